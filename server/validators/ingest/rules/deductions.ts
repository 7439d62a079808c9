// Which blocks deduct withdrawals, and which payloads pay them out. Since Gloas, a block deducts withdrawals from
// balances if it builds on the payload of its parent. Its own payload has to pay them out. If that payload does not become
// part of the chain, the next block deducts nothing, and its payload has to pay the same list.
import type { Block, Payload } from '#sources/beacon/block.ts'
import { buildsOnPayload } from '#sources/beacon/payload-status.ts'

/** What a block deducts from balances. */
export type BlockWithdrawals = Required<Pick<Payload, 'withdrawals' | 'builderWithdrawals'>>

export const noWithdrawals: BlockWithdrawals = { withdrawals: [], builderWithdrawals: [] }

export interface Deduction {
  readonly block: Block
  /** The blocks whose payloads have the same list, the one that is part of the chain first. Empty: nothing is deducted. */
  readonly payers: readonly Block[]
  /** No payload of the given blocks pays the list: those of later blocks have it as well. */
  readonly isOpen: boolean
}

/** Of the blocks since Gloas. `chain`: in ascending order, from the parent of the first one on, and further blocks. */
export function findDeductions(chain: readonly Block[], from: number, until: number): Deduction[] {
  const isFull = (at: number) => {
    const [block, child] = [chain[at], chain[at + 1]]
    return block !== undefined && child !== undefined && buildsOnPayload(child, block)
  }
  return chain.flatMap((block, at): Deduction[] => {
    if (!block.bid || block.slot < from || block.slot >= until) return []
    // Only the genesis block is not in the chain. Its payload is part of the first state.
    if (at > 0 && !isFull(at - 1)) return [{ block, payers: [], isOpen: false }]
    const paidAt = chain.findIndex((_, position) => position >= at && isFull(position))
    if (paidAt < 0) return [{ block, payers: chain.slice(at), isOpen: true }]
    return [{ block, payers: [chain[paidAt] as Block, ...chain.slice(at, paidAt)], isOpen: false }]
  })
}
