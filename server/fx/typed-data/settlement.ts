// What a node says about settling a signed quote: is the contract there, does the signer have the tokens, may Permit2 take
// them, is the nonce unused; for a signer that is a contract, whether it stands by the signature. Only asks, never sends.
import type { TypedData } from '#api/wire/fx.ts'
import type { ChainFinding } from '#api/wire/fx-extensions.ts'
import type { Clock } from '#runtime/clock.ts'
import { openRpc, type RpcCall } from '#sources/evm/rpc.ts'

export interface SettlementInput {
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
export async function readSettlementFindings(
  url: string,
  input: SettlementInput,
  clock: Clock,
): Promise<ChainFinding[]> {
  const { domain } = input.typedData
  const rpc = openRpc({
    chain: String(domain.chainId),
    rpc: [{ url, perSecond: 0, batchMax: 10, timeoutMs }],
    clock,
  })
  const outcomes = await rpc.call(settlementCalls(input), { untilMs: clock.monotonicMs() + timeoutMs })
  const failed = outcomes.find((outcome, at) => outcome.is !== 'result' && at < signatureCallIndex)
  if (failed && failed.is !== 'result') return [{ name: 'node', ok: false, message: failed.message }]
  const [permit2Code, signerCode, balance, allowance, bitmap, signatureResult] = outcomes.map((one) =>
    one.is === 'result' ? String(one.result) : '0x',
  )
  return [
    ...(permit2Code === '0x'
      ? [{ name: 'contract' as const, ok: false, message: `there is no contract at ${domain.verifyingContract}` }]
      : []),
    ...contractSignerFinding(signerCode, signatureResult),
    ...tokenFindings(input.typedData, decodeUint256(balance), decodeUint256(allowance)),
    nonceFinding(input.typedData, decodeUint256(bitmap)),
  ]
}

const signatureCallIndex = 5

function settlementCalls({ typedData, signer, signature, digest }: SettlementInput): readonly RpcCall[] {
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
    call(token, `${selectors.balanceOf}${abiWord(signer)}`),
    call(token, `${selectors.allowance}${abiWord(signer)}${abiWord(permit2)}`),
    call(permit2, `${selectors.nonceBitmap}${abiWord(signer)}${abiWord(BigInt(message.nonce) >> 8n)}`),
    call(signer, `${selectors.isValidSignature}${abiWord(digest)}${abiWord(64n)}${abiBytes(signature)}`),
  ]
}

const abiWord = (value: string | bigint): string => BigInt(value).toString(16).padStart(64, '0')

/** Length and content, filled up to whole words. */
function abiBytes(hex: string): string {
  const content = hex.slice(2)
  return `${abiWord(BigInt(content.length / 2))}${content.padEnd(Math.ceil(content.length / 64) * 64, '0')}`
}

const decodeUint256 = (hex: string | undefined): bigint | undefined =>
  hex !== undefined && /^0x[0-9a-f]{64}$/i.test(hex) ? BigInt(hex) : undefined

/** A plain account has no code; a delegated one (EIP-7702) still signs with its key, and Permit2 asks its code. */
function contractSignerFinding(code: string | undefined, signatureResult: string | undefined): ChainFinding[] {
  if (code === undefined || code === '0x') return []
  const ok = signatureResult?.toLowerCase().startsWith(`0x${selectors.isValidSignature}`) ?? false
  const message = ok
    ? 'the signer is a contract and stands by the signature'
    : 'the signer has code, so the contract is asked, and it does not stand by the signature'
  return [{ name: 'signature', ok, message }]
}

function tokenFindings(
  { message }: TypedData,
  balance: bigint | undefined,
  allowance: bigint | undefined,
): ChainFinding[] {
  const { token, amount } = message.permitted
  const needed = BigInt(amount)
  if (balance === undefined || allowance === undefined) {
    return [{ name: 'contract', ok: false, message: `${token} does not answer like a token` }]
  }
  return [
    { name: 'balance', ok: balance >= needed, message: `the signer has ${balance} of the token, ${needed} is needed` },
    {
      name: 'allowance',
      ok: allowance >= needed,
      message: `Permit2 may take ${allowance} of the token, ${needed} is needed`,
    },
  ]
}

function nonceFinding({ message }: TypedData, bitmap: bigint | undefined): ChainFinding {
  if (bitmap === undefined) return { name: 'nonce', ok: false, message: 'Permit2 does not tell which nonces are used' }
  const used = ((bitmap >> (BigInt(message.nonce) & 255n)) & 1n) === 1n
  return {
    name: 'nonce',
    ok: !used,
    message: used ? 'the nonce is used: it was settled or cancelled' : 'the nonce is unused',
  }
}
