// Checks on the chain whether a signed quote can be settled: the Permit2 contract exists, the signer has the tokens and
// has approved Permit2, the nonce is unused, and a contract signer accepts the signature, also one that is not deployed yet
// (ERC-6492). Read-only.
import type { TypedData } from '#api/contract/wire/fx.ts'
import type { ChainFinding } from '#api/contract/wire/fx-signature-check.ts'
import type { Clock } from '#runtime/clock.ts'
import { openRpc, type RpcCall } from '#sources/evm/rpc.ts'
import { isPredeploySignature, parsePredeploySignature, predeployCheckCode } from './predeploy-signature.ts'

export interface SettlementInput {
  readonly typedData: TypedData
  readonly signer: string
  readonly signature: string
  readonly digest: string
}

const timeoutMs = 5000
/** Function selectors. */
const selectors = {
  balanceOf: '70a08231', // balanceOf(address)
  allowance: 'dd62ed3e', // allowance(address,address)
  nonceBitmap: '4fe02b44', // nonceBitmap(address,uint256)
  isValidSignature: '1626ba7e', // isValidSignature(bytes32,bytes), EIP-1271
} as const

/** If the node fails, returns a finding instead of throwing, so that the rest of the diagnosis is still returned. */
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
  const [permit2Code, signerCode, balance, allowance, bitmap, signatureResult] = outcomes.map((outcome) =>
    outcome.is === 'result' ? String(outcome.result) : '0x',
  )
  return [
    ...(permit2Code === '0x'
      ? [{ name: 'contract' as const, ok: false, message: `there is no contract at ${domain.verifyingContract}` }]
      : []),
    ...(isPredeploySignature(input.signature)
      ? predeployFindings(signerCode, signatureResult)
      : contractSignerFinding(signerCode, signatureResult)),
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
    signatureCall(signer, digest, signature),
  ]
}

function signatureCall(signer: string, digest: string, signature: string): RpcCall {
  const dataFor = (bytes: string) =>
    `0x${selectors.isValidSignature}${abiWord(digest)}${abiWord(64n)}${abiBytes(bytes)}`
  const predeploy = isPredeploySignature(signature) ? parsePredeploySignature(signature) : undefined
  const transaction = predeploy
    ? { data: predeployCheckCode(predeploy, signer, selectors.isValidSignature, dataFor(predeploy.signature)) }
    : { to: signer, data: dataFor(signature) }
  return { method: 'eth_call', params: [transaction, 'latest'] }
}

const abiWord = (value: string | bigint): string => BigInt(value).toString(16).padStart(64, '0')

/** Length and content, padded to whole words. */
function abiBytes(hex: string): string {
  const content = hex.slice(2)
  return `${abiWord(BigInt(content.length / 2))}${content.padEnd(Math.ceil(content.length / 64) * 64, '0')}`
}

const decodeUint256 = (hex: string | undefined): bigint | undefined =>
  hex !== undefined && /^0x[0-9a-f]{64}$/i.test(hex) ? BigInt(hex) : undefined

/** Permit2 calls `isValidSignature` of any signer with code, including accounts delegated by EIP-7702. */
function contractSignerFinding(code: string | undefined, signatureResult: string | undefined): ChainFinding[] {
  if (code === undefined || code === '0x') return []
  const ok = signatureResult?.toLowerCase().startsWith(`0x${selectors.isValidSignature}`) ?? false
  const message = ok
    ? 'the signer is a contract and accepts the signature (EIP-1271)'
    : 'the signer is a contract and rejects the signature (EIP-1271)'
  return [{ name: 'signature', ok, message }]
}

/** The wallet decides. Permit2 does not know ERC-6492: it needs the deployed wallet and the inner signature. */
function predeployFindings(code: string | undefined, signatureResult: string | undefined): ChainFinding[] {
  const ok = decodeUint256(signatureResult) === 1n
  const isDeployed = code !== undefined && code !== '0x'
  const message = ok
    ? 'the signer accepts the signature once it is deployed (ERC-6492)'
    : 'the signer rejects the signature, or is not deployed by the call in it (ERC-6492)'
  const todo = isDeployed
    ? 'the signer is deployed: settle with the inner signature, because Permit2 does not accept the form of ERC-6492'
    : 'the signer is not deployed: deploy it before settlement, and settle with the inner signature'
  return [
    { name: 'signature', ok, message },
    ...(ok ? [{ name: 'contract' as const, ok: isDeployed, message: todo }] : []),
  ]
}

function tokenFindings(
  { message }: TypedData,
  balance: bigint | undefined,
  allowance: bigint | undefined,
): ChainFinding[] {
  const { token, amount } = message.permitted
  const needed = BigInt(amount)
  if (balance === undefined || allowance === undefined) {
    return [{ name: 'contract', ok: false, message: `${token} is not an ERC-20 token` }]
  }
  return [
    {
      name: 'balance',
      ok: balance >= needed,
      message: `the signer has ${balance} base units of the token and needs ${needed}`,
    },
    {
      name: 'allowance',
      ok: allowance >= needed,
      message: `the signer has approved Permit2 for ${allowance} base units of the token and needs ${needed}`,
    },
  ]
}

function nonceFinding({ message }: TypedData, bitmap: bigint | undefined): ChainFinding {
  if (bitmap === undefined) return { name: 'nonce', ok: false, message: 'Permit2 returned no nonce bitmap' }
  const used = ((bitmap >> (BigInt(message.nonce) & 255n)) & 1n) === 1n
  return {
    name: 'nonce',
    ok: !used,
    message: used ? 'the nonce is used: the quote was settled or cancelled' : 'the nonce is unused',
  }
}
