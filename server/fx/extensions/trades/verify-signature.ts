// Verifies the signature of a trade as Permit2 does: an address with code is asked (EIP-1271), any other address must be the
// one that ecrecover returns. With a node, the newest block decides whether the address has code.
import type { TypedData } from '#api/contract/wire/fx.ts'
import { Fault } from '#core/fault.ts'
import { hashTypedData } from '../signature-check/hash-typed-data.ts'
import { addressRecovery } from '../signature-check/recover-address.ts'
import { isNodeAnswer, isOutOfGas, signatureCall } from '../signature-check/settlement.ts'
import { parseSignature } from '../signature-check/signature-text.ts'
import { callAtHead, type NodeContext, nodeUnavailable } from './node-calls.ts'
import type { SignedBy } from './trade-store.ts'

export interface SignedPermit {
  readonly typedData: TypedData
  readonly address: string
  readonly signature: string
}

/** Throws `fx.signature_invalid` if Permit2 would refuse it, and `fx.node_unavailable` if that is not known. */
export async function verifySignature(
  context: NodeContext,
  { typedData, address, signature }: SignedPermit,
  signal?: AbortSignal,
): Promise<SignedBy> {
  const digest = hashTypedData(typedData)
  const isOwnKey = isSignedByKey(digest, address, signature)
  const { rpcUrl, rpcGasMax } = context.settings.fx
  if (rpcUrl === '') {
    if (isOwnKey) return 'key'
    throw invalidSignature('This server has no node (fx.rpcUrl), so it cannot ask contract wallets.')
  }
  const check = signatureCall({ signer: address, signature, digest: `0x${digest.toHex()}`, gasMax: rpcGasMax })
  const [code, answer] = await callAtHead(
    context,
    (block) => [{ method: 'eth_getCode', params: [address, block] }, check(block)],
    signal,
  )
  if (code?.is !== 'result' || typeof code.result !== 'string')
    throw nodeUnavailable(context, code && code.is !== 'result' ? code.message : 'the node returned no code')
  if (code.result === '0x') {
    if (isOwnKey) return 'key'
    throw invalidSignature()
  }
  if (!answer || !isNodeAnswer(answer))
    throw nodeUnavailable(context, answer && answer.is !== 'result' ? answer.message : 'no answer of the signer')
  if (answer.is === 'result' && /^0x1626ba7e0{56}/.test(String(answer.result).toLowerCase())) return 'contract'
  throw invalidSignature(
    isOutOfGas(answer)
      ? `The contract needs more than ${rpcGasMax} gas to check it (fx.rpcGasMax).`
      : 'The address is a contract, and does not accept it (EIP-1271).',
  )
}

/** Whether ecrecover returns this address, in one of the two forms that Permit2 accepts. */
export function isSignedByKey(digest: Uint8Array, address: string, signature: string): boolean {
  const { parts, findings } = parseSignature(signature, address)
  if (!parts || findings.length > 0) return false
  return addressRecovery(parts)?.(digest) === address.toLowerCase()
}

const invalidSignature = (reason = ''): Fault =>
  new Fault('fx.signature_invalid', {
    message: `This is not a signature of this address over the typed data of the quote. ${reason}`.trim(),
  })
