// Checks on the chain whether a signed quote can be settled: the Permit2 contract exists, the signer has the tokens and
// has approved Permit2, the nonce is unused, and a contract signer accepts the signature (EIP-1271). Read-only.
//
// 1. Every call has a gas limit, because the caller chooses the signer, and so the code that the node runs.
// 2. No text of the node reaches the caller: errors of nodes contain addresses and keys.
import type { TypedData } from '#api/contract/wire/fx.ts'
import type { ChainFinding } from '#api/contract/wire/fx-signature-check.ts'
import type { Clock } from '#runtime/clock.ts'
import type { RpcOutcome } from '#sources/evm/batch-results.ts'
import { kindOf } from '#sources/evm/node-errors.ts'
import { openRpc, type RpcCall } from '#sources/evm/rpc.ts'
import { isPredeploySignature } from './predeploy-signature.ts'

export interface SettlementInput {
  readonly typedData: TypedData
  readonly signer: string
  readonly signature: string
  readonly digest: string
}

export interface CheckNode {
  readonly url: string
  /** Rule 1: the limit of each call. */
  readonly gasMax: number
  readonly clock: Clock
  readonly signal?: AbortSignal | undefined
  /** Limit of all calls together. */
  readonly timeoutMs?: number
  /** Gets the reason if the node does not return what is needed. It may contain the address of the node. */
  readonly reportFailure: (reason: string) => void
}

export interface Settlement {
  readonly findings: readonly ChainFinding[]
  /** What the code of the signer returned; undefined: it has none, or was not called. */
  readonly signer?: SignerAnswer
}

/** `unknown`: the node did not run the code to its end. */
type SignerAnswer = 'accepts' | 'rejects' | 'unknown'

const defaultTimeoutMs = 5000
/** A node may reach its rate limit once. */
const attemptsMax = 2
/** Function selectors. */
const selectors = {
  balanceOf: '70a08231', // balanceOf(address)
  allowance: 'dd62ed3e', // allowance(address,address)
  nonceBitmap: '4fe02b44', // nonceBitmap(address,uint256)
  isValidSignature: '1626ba7e', // isValidSignature(bytes32,bytes), EIP-1271
} as const

/** If the node fails, returns a finding instead of throwing, so that the rest of the diagnosis is still returned. */
export async function readSettlement(node: CheckNode, input: SettlementInput): Promise<Settlement> {
  const { domain } = input.typedData
  const { url, clock, gasMax, signal, timeoutMs = defaultTimeoutMs } = node
  const rpc = openRpc({
    chain: String(domain.chainId),
    rpc: [{ url, perSecond: 0, batchMax: 10, timeoutMs }],
    clock,
  })
  const untilMs = clock.monotonicMs() + timeoutMs
  const outcomes = await rpc.call(settlementCalls(input, gasMax), { untilMs, attemptsMax, ...(signal && { signal }) })
  const failed = outcomes.find((outcome) => !isNodeAnswer(outcome))
  if (failed && failed.is !== 'result') node.reportFailure(failed.message)
  // Without the balances, nothing is left to report. A failed check of the signature is a finding of its own.
  if (failed && outcomes.indexOf(failed) < signatureCallIndex)
    return {
      findings: [{ name: 'node', ok: false, message: 'the node of the server did not return a usable response' }],
    }
  const [permit2Code, signerCode = '0x', balance, allowance, bitmap] = outcomes.map((outcome) =>
    outcome.is === 'result' ? String(outcome.result) : '0x',
  )
  const signatureOutcome = outcomes[signatureCallIndex]
  const answer = signatureOutcome && signerCode !== '0x' ? readAnswer(signatureOutcome) : undefined
  return {
    ...(answer && { signer: answer.is }),
    findings: [
      ...(permit2Code === '0x'
        ? [{ name: 'contract' as const, ok: false, message: `there is no contract at ${domain.verifyingContract}` }]
        : []),
      ...(answer ? [{ name: 'signature' as const, ok: answer.is === 'accepts', message: answer.message }] : []),
      ...(isPredeploySignature(input.signature) ? [deploymentFinding(signerCode)] : []),
      ...tokenFindings(input.typedData, decodeUint256(balance), decodeUint256(allowance)),
      nonceFinding(input.typedData, decodeUint256(bitmap)),
    ],
  }

  function readAnswer(outcome: RpcOutcome): { readonly is: SignerAnswer; readonly message: string } {
    if (outcome.is === 'result') {
      const accepts = String(outcome.result).toLowerCase().startsWith(`0x${selectors.isValidSignature}`)
      return accepts
        ? { is: 'accepts', message: 'the signer is a contract and accepts the signature (EIP-1271)' }
        : { is: 'rejects', message: 'the signer is a contract and rejects the signature (EIP-1271)' }
    }
    if (isOutOfGas(outcome))
      return {
        is: 'unknown',
        message: `the signer is a contract that needs more than ${gasMax} gas to check the signature (fx.rpcGasMax)`,
      }
    return isNodeAnswer(outcome)
      ? { is: 'rejects', message: 'the signer is a contract that cannot check a signature (EIP-1271)' }
      : { is: 'unknown', message: 'the signer is a contract, and the node did not check its signature (EIP-1271)' }
  }
}

const outOfGas = /out of ?gas|gas required exceeds|ran out of gas|intrinsic gas/i
/** How nodes report that the called code has failed. */
const isExecutionFailure =
  /revert|invalid (opcode|instruction|jump)|opcode|bad instruction|stack|exception|vm execution/i

export const isOutOfGas = (outcome: RpcOutcome): boolean => outcome.is === 'error' && outOfGas.test(outcome.message)

/** A result, or an error of the called code instead of the node. */
export const isNodeAnswer = (outcome: RpcOutcome): boolean =>
  outcome.is === 'result' ||
  (outcome.is === 'error' &&
    kindOf(outcome) === undefined &&
    (outOfGas.test(outcome.message) || isExecutionFailure.test(outcome.message)))

const signatureCallIndex = 5

function settlementCalls({ typedData, signer, signature, digest }: SettlementInput, gasMax: number): RpcCall[] {
  const { domain, message } = typedData
  const { token } = message.permitted
  const permit2 = domain.verifyingContract
  const code = (address: string): RpcCall => ({ method: 'eth_getCode', params: [address, 'latest'] })
  const call = (to: string, data: string): RpcCall => ({
    method: 'eth_call',
    params: [{ to, data: `0x${data}`, gas: `0x${gasMax.toString(16)}` }, 'latest'],
    acceptsError: true,
  })
  return [
    code(permit2),
    code(signer),
    call(token, `${selectors.balanceOf}${abiWord(signer)}`),
    call(token, `${selectors.allowance}${abiWord(signer)}${abiWord(permit2)}`),
    call(permit2, `${selectors.nonceBitmap}${abiWord(signer)}${abiWord(BigInt(message.nonce) >> 8n)}`),
    // Permit2 refuses the form of ERC-6492, whatever the wallet returns.
    ...(isPredeploySignature(signature) ? [] : [signatureCall({ signer, signature, digest, gasMax })('latest')]),
  ]
}

/** Asks a contract whether it accepts a signature (EIP-1271), at a block. */
export const signatureCall =
  ({ signer, signature, digest, gasMax }: Omit<SettlementInput, 'typedData'> & { readonly gasMax: number }) =>
  (block: string): RpcCall => {
    const data = `0x${selectors.isValidSignature}${abiWord(digest)}${abiWord(64n)}${abiBytes(signature)}`
    const params = [{ to: signer, data, gas: `0x${gasMax.toString(16)}` }, block]
    return { method: 'eth_call', params, acceptsError: true }
  }

export const abiWord = (value: string | bigint): string => BigInt(value).toString(16).padStart(64, '0')

/** Length and content, padded to whole words. */
function abiBytes(hex: string): string {
  const content = hex.slice(2)
  return `${abiWord(BigInt(content.length / 2))}${content.padEnd(Math.ceil(content.length / 64) * 64, '0')}`
}

const decodeUint256 = (hex: string | undefined): bigint | undefined =>
  hex !== undefined && /^0x[0-9a-f]{64}$/i.test(hex) ? BigInt(hex) : undefined

function deploymentFinding(code: string): ChainFinding {
  const isDeployed = code !== '0x'
  const message = isDeployed
    ? 'the signer is deployed: check the inner signature, and settle with it'
    : 'the signer is not deployed: deploy it before settlement'
  return { name: 'contract', ok: isDeployed, message }
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
