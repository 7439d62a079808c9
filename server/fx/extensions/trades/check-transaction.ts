// Checks with the node what the operator reports about a trade. A transaction that settled the trade has succeeded, has
// moved tokens of the signer, and the nonce of the permit is used since its block. A transaction that failed was reverted.
import { Fault } from '#core/fault.ts'
import type { RpcOutcome } from '#sources/evm/batch-results.ts'
import { abiWord } from '../signature-check/settlement.ts'
import { callAtHead, type NodeContext, nodeUnavailable } from './node-calls.ts'
import type { Permit, Report } from './trade-store.ts'

interface Receipt {
  readonly status?: unknown
  readonly blockNumber?: unknown
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
  const [outcome] = await callAtHead(context, () => [{ method: 'eth_getTransactionReceipt', params: [txHash] }], signal)
  if (outcome?.is === 'unusable' && outcome.reason === 'null')
    throw mismatch('The node does not know a receipt of this transaction. Wait until it is in a block.')
  if (outcome?.is !== 'result') throw nodeUnavailable(context, outcome?.message ?? 'no receipt')
  const receipt = outcome.result as Receipt
  if (receipt.status !== (status === 'settled' ? '0x1' : '0x0'))
    throw mismatch(`The transaction ${receipt.status === '0x1' ? 'has succeeded' : 'was reverted'}.`)
  if (status === 'failed') return
  const { token } = typedData.message.permitted
  if (!hasPaid(receipt, owner, token)) throw mismatch(`The transaction has not moved tokens ${token} of ${owner}.`)
  await checkNonce(context, { owner, typedData }, receipt, signal)
}

/** Permit2 emits no event. So the nonce must be used after the block of the transaction, and unused before it. */
async function checkNonce(
  context: NodeContext,
  { owner, typedData: { message, domain } }: Pick<Permit, 'owner' | 'typedData'>,
  { blockNumber }: Receipt,
  signal: AbortSignal | undefined,
): Promise<void> {
  const nonce = BigInt(message.nonce)
  const to = domain.verifyingContract
  const data = `0x${nonceBitmap}${abiWord(owner)}${abiWord(nonce >> 8n)}`
  const callAt = (block: string) => ({ method: 'eth_call', params: [{ to, data }, block] })
  const minedAt = BigInt(String(blockNumber))
  // A node without the state of these blocks refuses.
  const past = [minedAt, minedAt - 1n].map((block) => ({
    ...callAt(`0x${block.toString(16)}`),
    acceptsError: true as const,
  }))
  const [atHead, ...atPast] = await callAtHead(context, (head) => [callAt(head), ...past], signal)
  const isUsed = (outcome: RpcOutcome | undefined): boolean | undefined =>
    outcome?.is === 'result' && /^0x[0-9a-f]{64}$/i.test(String(outcome.result))
      ? ((BigInt(String(outcome.result)) >> (nonce & 255n)) & 1n) === 1n
      : undefined
  const used = isUsed(atHead)
  if (used === undefined)
    throw nodeUnavailable(
      context,
      atHead && atHead.is !== 'result' ? atHead.message : 'Permit2 returned no nonce bitmap',
    )
  if (!used) throw mismatch('The nonce of the permit is not used: the transaction has settled something else.')
  const [after, before] = atPast.map(isUsed)
  if (after === false || before === true)
    throw mismatch('Another transaction has used the nonce of the permit: this one has settled something else.')
}

const hasPaid = ({ logs = [] }: Receipt, owner: string, token: string): boolean =>
  logs.some(
    ({ address, topics = [] }) =>
      String(address).toLowerCase() === token.toLowerCase() &&
      topics[0] === transferTopic &&
      String(topics[1]).toLowerCase() === `0x${abiWord(owner)}`,
  )

const mismatch = (message: string): Fault => new Fault('fx.transaction_mismatch', { message })
