// What a node says about settling a signed quote: is the contract there, does the signer have the tokens, may Permit2 take
// them, is the nonce unused; for a signer that is a contract, whether it stands by the signature. Only asks, never sends.
import type { TypedData } from '#api/wire/fx.ts'
import type { ChainFinding } from '#api/wire/fx-desk.ts'
import type { Clock } from '#io/clock.ts'
import { openRpc, type RpcCall } from '#io/evm/rpc.ts'

export interface SettlementCase {
  readonly typedData: TypedData
  readonly signer: string
  readonly signature: string
  readonly digest: string
}

const timeoutMs = 5000
/** First four bytes of the hash of each function's signature. */
const selectors = {
  balanceOf: '70a08231', // balanceOf(address)
  allowance: 'dd62ed3e', // allowance(address,address)
  nonceBitmap: '4fe02b44', // nonceBitmap(address,uint256)
  isValidSignature: '1626ba7e', // isValidSignature(bytes32,bytes), EIP-1271
} as const

/** A node that cannot be asked is a finding, not a failure: the rest of the diagnosis stands. */
export async function settlementFindings(url: string, asked: SettlementCase, clock: Clock): Promise<ChainFinding[]> {
  const { domain } = asked.typedData
  const rpc = openRpc({
    chain: String(domain.chainId),
    rpc: [{ url, perSecond: 0, batchMax: 10, timeoutMs }],
    clock,
  })
  const outcomes = await rpc.ask(callsOf(asked), { untilMs: clock.monotonicMs() + timeoutMs })
  const failed = outcomes.find((outcome, at) => outcome.is !== 'result' && at < signatureAt)
  if (failed && failed.is !== 'result') return [{ name: 'node', ok: false, says: failed.words }]
  const [permit2Code, signerCode, balance, allowance, bitmap, stands] = outcomes.map((one) =>
    one.is === 'result' ? String(one.result) : '0x',
  )
  return [
    ...(permit2Code === '0x'
      ? [{ name: 'contract' as const, ok: false, says: `there is no contract at ${domain.verifyingContract}` }]
      : []),
    ...contractSigner(signerCode, stands),
    ...tokenFindings(asked.typedData, numberOf(balance), numberOf(allowance)),
    nonceFinding(asked.typedData, numberOf(bitmap)),
  ]
}

const signatureAt = 5

function callsOf({ typedData, signer, signature, digest }: SettlementCase): readonly RpcCall[] {
  const { domain, message } = typedData
  const { token } = message.permitted
  const permit2 = domain.verifyingContract
  const code = (address: string): RpcCall => ({ method: 'eth_getCode', params: [address, 'latest'] })
  const call = (to: string, data: string): RpcCall => ({
    method: 'eth_call',
    params: [{ to, data: `0x${data}` }, 'latest'],
  })
  return [
    code(permit2),
    code(signer),
    call(token, `${selectors.balanceOf}${word(signer)}`),
    call(token, `${selectors.allowance}${word(signer)}${word(permit2)}`),
    call(permit2, `${selectors.nonceBitmap}${word(signer)}${word(BigInt(message.nonce) >> 8n)}`),
    call(signer, `${selectors.isValidSignature}${word(digest)}${word(64n)}${bytes(signature)}`),
  ]
}

const word = (value: string | bigint): string => BigInt(value).toString(16).padStart(64, '0')

/** Length and content, filled up to whole words. */
function bytes(hex: string): string {
  const content = hex.slice(2)
  return `${word(BigInt(content.length / 2))}${content.padEnd(Math.ceil(content.length / 64) * 64, '0')}`
}

const numberOf = (hex: string | undefined): bigint | undefined =>
  hex !== undefined && /^0x[0-9a-f]{64}$/i.test(hex) ? BigInt(hex) : undefined

/** A plain account has no code; a delegated one (EIP-7702) still signs with its key, and Permit2 asks its code. */
function contractSigner(code: string | undefined, stands: string | undefined): ChainFinding[] {
  if (code === undefined || code === '0x') return []
  const ok = stands?.toLowerCase().startsWith(`0x${selectors.isValidSignature}`) ?? false
  const says = ok
    ? 'the signer is a contract and stands by the signature'
    : 'the signer has code, so the contract is asked, and it does not stand by the signature'
  return [{ name: 'signature', ok, says }]
}

function tokenFindings(
  { message }: TypedData,
  balance: bigint | undefined,
  allowance: bigint | undefined,
): ChainFinding[] {
  const { token, amount } = message.permitted
  const needed = BigInt(amount)
  if (balance === undefined || allowance === undefined) {
    return [{ name: 'contract', ok: false, says: `${token} does not answer like a token` }]
  }
  return [
    { name: 'balance', ok: balance >= needed, says: `the signer has ${balance} of the token, ${needed} is needed` },
    {
      name: 'allowance',
      ok: allowance >= needed,
      says: `Permit2 may take ${allowance} of the token, ${needed} is needed`,
    },
  ]
}

function nonceFinding({ message }: TypedData, bitmap: bigint | undefined): ChainFinding {
  if (bitmap === undefined) return { name: 'nonce', ok: false, says: 'Permit2 does not tell which nonces are used' }
  const used = ((bitmap >> (BigInt(message.nonce) & 255n)) & 1n) === 1n
  return {
    name: 'nonce',
    ok: !used,
    says: used ? 'the nonce is used: it was settled or cancelled' : 'the nonce is unused',
  }
}
