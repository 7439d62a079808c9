// Finds the block in which an account without code changed, by bisecting over block numbers. Pure except for `read`.
//
// An account without code spends only through its own transactions, and each of them raises its nonce. After a state
// (nonce n, balance b), the condition "nonce above n, or balance above b" therefore stays true once it is true, and
// nothing has come in while it is false. An account that contradicts this was a contract that destroyed itself.
import type { Account } from '#sources/evm/types.ts'

/** The account at the end of a block. */
export interface AccountState extends Account {
  readonly block: number
}

export const emptyAccount: Account = { nonce: 0n, balanceWei: 0n }

/** States at the end of the given blocks, in their order. With `knownNonce`, only balances have to be read. */
export type ReadAccounts = (blocks: readonly number[], knownNonce?: bigint) => Promise<readonly AccountState[]>

/**
 * The first state after `before` that differs from it. `after` is a later state that differs. Each round reads the
 * account at `fanOut` blocks: one needs the fewest calls, more need fewer rounds.
 */
export async function findFirstChange(
  read: ReadAccounts,
  before: AccountState,
  after: AccountState,
  fanOut: number,
): Promise<AccountState | 'not risen'> {
  if (!hasRisen(before, after)) return 'not risen'
  let unchanged = before.block
  let changed = after
  while (changed.block - unchanged > 1) {
    // Nonces never fall: between two equal ones there is no other.
    const knownNonce = changed.nonce === before.nonce ? before.nonce : undefined
    const states = await read(blocksBetween(unchanged, changed.block, fanOut), knownNonce)
    for (const state of states) {
      const isSame = isSameAccount(before, state)
      if (isSame && state.block < changed.block) unchanged = state.block
      else if (!hasRisen(before, state)) return 'not risen'
      else if (state.block < changed.block) changed = state
    }
  }
  return changed
}

/** Up to `count` block numbers between the two, evenly spread. */
function blocksBetween(low: number, high: number, count: number): number[] {
  const size = Math.min(count, high - low - 1)
  return Array.from({ length: size }, (_, at) => low + Math.floor(((high - low) * (at + 1)) / (size + 1)))
}

export const isSameAccount = (a: Account, b: Account): boolean => a.nonce === b.nonce && a.balanceWei === b.balanceWei

/** The account runs the code of another one (EIP-7702). Only an account with a private key can do so. */
export const isDelegation = (code: string): boolean => /^0xef0100[0-9a-f]{40}$/i.test(code)

const hasRisen = (before: Account, { nonce, balanceWei }: Account): boolean =>
  nonce > before.nonce || (nonce === before.nonce && balanceWei > before.balanceWei)
