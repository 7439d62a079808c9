// Checks with the node what the operator reports about a trade. A transaction that settled the trade has succeeded, has
// moved tokens of the signer, and the nonce of the permit is used. A transaction that failed was reverted.
import type { TypedData } from '#api/contract/wire/fx.ts'
import { Fault } from '#core/fault.ts'
import { abiWord } from '../signature-check/settlement.ts'
import { callAtHead, type NodeContext, nodeUnavailable } from './node-calls.ts'
import type { Permit, Report } from './trade-store.ts'

interface Receipt {
  readonly status?: unknown
  readonly logs?: readonly { readonly address?: unknown; readonly topics?: readonly unknown[] }[]
}

/** `Transfer(address,address,uint256)` */
const transferTopic = '0xddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef'
/** `nonceBitmap(address,uint256)` */
const nonceBitmap = '4fe02b44'

/** Throws `fx.transaction_mismatch` if the receipt shows something else. */
export async function checkTransaction(
  context: NodeContext,
  { owner, typedData }: Permit,
  { status, txHash }: Report,
  signal?: AbortSignal,
): Promise<void> {
  const { message, domain } = typedData
  const nonce = BigInt(message.nonce)
  const data = `0x${nonceBitmap}${abiWord(owner)}${abiWord(nonce >> 8n)}`
  const [receiptOutcome, bitmap] = await callAtHead(
    context,
    (block) => [
      { method: 'eth_getTransactionReceipt', params: [txHash] },
      { method: 'eth_call', params: [{ to: domain.verifyingContract, data }, block] },
    ],
    signal,
  )
  if (receiptOutcome?.is === 'unusable' && receiptOutcome.reason === 'null')
    throw mismatch('The node does not know a receipt of this transaction. Wait until it is in a block.')
  if (receiptOutcome?.is !== 'result') throw nodeUnavailable(context, receiptOutcome?.message ?? 'no receipt')
  const receipt = receiptOutcome.result as Receipt
  if (receipt.status !== (status === 'settled' ? '0x1' : '0x0'))
    throw mismatch(`The transaction ${receipt.status === '0x1' ? 'has succeeded' : 'was reverted'}.`)
  if (status === 'failed') return
  if (!hasPaid(receipt, owner, message.permitted.token))
    throw mismatch(`The transaction has not moved tokens ${message.permitted.token} of ${owner}.`)
  if (bitmap?.is !== 'result' || !/^0x[0-9a-f]{64}$/i.test(String(bitmap.result)))
    throw nodeUnavailable(
      context,
      bitmap && bitmap.is !== 'result' ? bitmap.message : 'Permit2 returned no nonce bitmap',
    )
  if (((BigInt(String(bitmap.result)) >> (nonce & 255n)) & 1n) === 0n)
    throw mismatch('The nonce of the permit is not used: the transaction has settled something else.')
}

const hasPaid = ({ logs = [] }: Receipt, owner: string, token: TypedData['message']['spender']): boolean =>
  logs.some(
    ({ address, topics = [] }) =>
      String(address).toLowerCase() === token.toLowerCase() &&
      topics[0] === transferTopic &&
      String(topics[1]).toLowerCase() === `0x${abiWord(owner)}`,
  )

const mismatch = (message: string): Fault => new Fault('fx.transaction_mismatch', { message })
