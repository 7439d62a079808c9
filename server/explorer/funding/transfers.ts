// The transfers of the chain's own coin in a block, in execution order (behaviour/explorer.md#what-counts-as-funding).
// Pure.
//
// Position 0 is the transaction's own value. Internal transfers are counted from 1. Only transfers with value count,
// because nodes differ in which other calls they list. A transfer to the sender itself does not count.
import { Fault } from '#core/fault.ts'
import type { BlockWithExecution, Receipt, TraceTransfer, Transaction } from '#sources/evm/types.ts'
import { type Funding, isBefore } from './fundings.ts'

export interface Transfer extends Omit<Funding, 'chain' | 'address' | 'funder' | 'isProven'> {
  readonly from: string
  readonly to: string
}

export function transfersOf({ block, execution }: BlockWithExecution): Transfer[] {
  const { number, timeUnix, transactions } = block
  const all: Transfer[] = []
  for (const [at, { hash, index }] of transactions.entries()) {
    const transfers =
      execution.form === 'receipts'
        ? plainTransfers(transactions[at] as Transaction, execution.receipts[at])
        : (execution.transfers[at] ?? [])
    let internal = 0
    for (const { top, from, to, valueWei } of transfers) {
      const position = top ? 0 : ++internal
      all.push({ block: number, timeUnix, tx: hash, txIndex: index, position, from, to, valueWei })
    }
  }
  return all
}

/** The first transfer to each address. */
export function fundingsOf(chain: string, transfers: Iterable<Transfer>): Funding[] {
  const first = new Map<string, Transfer>()
  for (const transfer of transfers) {
    const known = first.get(transfer.to)
    if (!known || isBefore(transfer, known)) first.set(transfer.to, transfer)
  }
  const fundings: Funding[] = []
  for (const { from, to, block, txIndex, position, timeUnix, tx, valueWei } of first.values())
    fundings.push({ chain, address: to, block, txIndex, position, timeUnix, funder: from, tx, valueWei })
  return fundings
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
  return receipt.succeeded && to && to !== tx.from ? [{ top: true, from: tx.from, to, valueWei: tx.valueWei }] : []
}
