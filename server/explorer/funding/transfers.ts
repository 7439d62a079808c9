// The transfers of the chain's own coin in a block, in execution order (behaviour/explorer.md#what-counts-as-funding).
// Pure.
//
// 1. Position 0 is the transaction's own value. Internal transfers are counted from 1. Only transfers with value count,
//    because nodes differ in which other calls they list.
import { Fault } from '#core/fault.ts'
import type { BlockWithExecution, Receipt, TraceTransfer, Transaction } from '#sources/evm/types.ts'
import { type Funding, isBefore } from './fundings.ts'

export interface Transfer {
  readonly block: number
  readonly timeUnix: number
  readonly tx: string
  readonly txIndex: number
  readonly position: number
  readonly from: string
  readonly to: string
  readonly valueWei: bigint
}

export function transfersOf({ block, execution }: BlockWithExecution): Transfer[] {
  return block.transactions.flatMap((tx, at) => {
    const transfers =
      execution.form === 'traced' ? (execution.transfers[at] ?? []) : plainTransfers(tx, execution.receipts[at])
    let internal = 0
    return transfers.map(({ top, from, to, valueWei }) => ({
      block: block.number,
      timeUnix: block.timeUnix,
      tx: tx.hash,
      txIndex: tx.index,
      position: top ? 0 : ++internal,
      from,
      to,
      valueWei,
    }))
  })
}

/** The first transfer to each address. A transfer to the sender itself is no funding. */
export function fundingsOf(chain: string, transfers: Iterable<Transfer>): Funding[] {
  const first = new Map<string, Transfer>()
  for (const transfer of transfers) {
    const known = first.get(transfer.to)
    if (transfer.from !== transfer.to && (!known || isBefore(transfer, known))) first.set(transfer.to, transfer)
  }
  return [...first.values()].map(({ from, to, ...rest }) => ({ chain, address: to, funder: from, ...rest }))
}

/** Without traces, only the transaction's own value is known. */
function plainTransfers(tx: Transaction, receipt: Receipt | undefined): TraceTransfer[] {
  if (tx.valueWei === 0n) return []
  if (receipt?.succeeded === undefined) {
    // Receipts from before Byzantium have no status; only a trace shows whether the transaction succeeded.
    throw new Fault('explorer.no_traces', {
      detail: `the receipt of ${tx.hash} has no status, so only a trace shows whether it succeeded`,
    })
  }
  const to = tx.to ?? receipt.contractAddress
  return receipt.succeeded && to ? [{ top: true, from: tx.from, to, valueWei: tx.valueWei }] : []
}
