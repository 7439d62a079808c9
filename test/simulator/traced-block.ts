// A simulated block as the client of execution nodes knows it.
import type { SimulatedBlock } from '#simulator/evm/chain.ts'

/** The block that traces and receipts must match, as the client knows it. */
export const tracedBlock = ({ number, hash, transactions }: SimulatedBlock) => ({
  number,
  hash,
  transactions: transactions.map((tx, index) => ({
    hash: tx.hash,
    index,
    from: tx.from,
    to: tx.to,
    valueWei: tx.value,
  })),
})
