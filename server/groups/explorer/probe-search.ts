// Finds the next block in which an account without code changed, by asking for its nonce and balance at a few blocks per
// round. Pure but for `look`.
//
// An account without code spends only by its own transactions, and each of them raises its nonce; the same is true while
// its code is inert (code.ts). So from (nonce n,
// balance b) on, "nonce > n or balance > b" once true stays true, and while it is false nothing at all has come in. The
// search for a first sign of life is the case n = 0, b = 0. Whatever contradicts this was no such account:
// a contract of old, or one that destroyed itself.
import type { Account } from '#io/evm/shapes.ts'

export type Look = (blocks: readonly number[]) => Promise<readonly Account[]>

export interface Change {
  readonly at: number
  readonly account: Account
}

/**
 * The first block in (from, until] at whose end the account is not as it was at the end of `from`; `base` is that.
 * `undone`: a state was met that such an account cannot have, so none of this proves anything. `near`: the change is
 * probably not far, as one withdrawal follows another; then the first points lie close together at first.
 */
export async function firstChange(
  look: Look,
  base: Account,
  from: number,
  until: number,
  fanOut: number,
  near = false,
): Promise<Change | 'undone' | undefined> {
  let same = from
  let changed: Change | undefined
  while (same < (changed?.at ?? until + 1) - 1) {
    const spread = near ? leaps : between
    const points = changed ? between(same, changed.at, fanOut) : [...spread(same, until, fanOut - 1), until]
    const accounts = await look(points)
    const first = firstChanged(base, accounts)
    if (first === 'undone') return 'undone'
    if (first < 0) {
      if (!changed) return undefined
      same = points.at(-1) as number
    } else {
      changed = { at: points[first] as number, account: accounts[first] as Account }
      if (first > 0) same = points[first - 1] as number
    }
  }
  return changed
}

/** Up to `count` whole numbers strictly between the two, evenly spread. */
export function between(low: number, high: number, count: number): number[] {
  const room = Math.min(count, high - low - 1)
  const points = Array.from({ length: room }, (_, at) => low + Math.floor(((high - low) * (at + 1)) / (room + 1)))
  return points.filter((point) => point > low)
}

/** The same, each as many times further away than the one before. */
export function leaps(low: number, high: number, count: number): number[] {
  const points = Array.from({ length: count }, (_, at) => low + Math.round((high - low) ** ((at + 1) / (count + 1))))
  return [...new Set(points)].filter((point) => point > low && point < high)
}

function firstChanged(base: Account, accounts: readonly Account[]): number | 'undone' {
  const first = accounts.findIndex((account) => !isSame(base, account))
  if (first < 0) return first
  const later = accounts.slice(first)
  return later.every((account) => hasRisen(base, account)) ? first : 'undone'
}

const isSame = (base: Account, { nonce, balanceWei }: Account): boolean =>
  nonce === base.nonce && balanceWei === base.balanceWei

const hasRisen = (base: Account, { nonce, balanceWei }: Account): boolean =>
  nonce > base.nonce || (nonce === base.nonce && balanceWei > base.balanceWei)
