// A validator with its figures of a period, and the order of such validators in a table.
import type { FoundValidator } from '#api/contract/wire/validators-find.ts'

export interface RatedMember extends FoundValidator {
  /** Null: no duties in the period. */
  readonly effectiveness: number | null
  readonly uptime: number | null
  /** In gwei. */
  readonly earnings: number | null
}

export type MemberSort = 'validatorIndex' | 'effectiveness' | 'uptime' | 'earnings'

/** Members without a value are last in either order. */
export const sortMembers = (
  members: readonly RatedMember[],
  sort: MemberSort,
  isDescending: boolean,
): readonly RatedMember[] =>
  members.toSorted((a, b) => {
    const [left, right] = [a[sort], b[sort]]
    if (left === null || right === null) return Number(left === null) - Number(right === null)
    return isDescending ? right - left : left - right
  })
