// What a validator was paid, was fined and let slip, sorted into lines that add up. Gwei throughout, as whole numbers.
import type { AggregateField, AggregateRecord } from '#api/wire/validators.ts'

type Whole = number | bigint | undefined

export interface Item {
  readonly name: string
  /** Undefined: not known, because nothing that could tell was read. */
  readonly gwei: bigint | undefined
}

const big = (value: Whole): bigint | undefined => (value === undefined ? undefined : BigInt(value))

/** One is unknown, so is the sum. */
const sum = (values: readonly (bigint | undefined)[]): bigint | undefined =>
  values.reduce((total, value) => (total === undefined || value === undefined ? undefined : total + value), 0n)

/** Rewards for sync signatures have no field of their own; they are what is left of the estimate. */
function syncReward(record: AggregateRecord): bigint | undefined {
  const [all, votes, blocks] = [record.estimatedRewards, record.sumAttestationRewards, record.sumConsensusBlockRewards]
  return all === undefined || votes === undefined || blocks === undefined
    ? undefined
    : BigInt(all) - BigInt(votes) - BigInt(blocks)
}

/** The parts of a ledger, each with its sum. */
export interface RewardStatement {
  readonly consensus: StatementPart
  readonly execution: StatementPart
  readonly penalties: StatementPart
  readonly missed: StatementPart
  /** Change of the balance, without deposits and withdrawals. */
  readonly earnings: bigint | undefined
  /** The same with what the blocks brought on the execution side. */
  readonly all: bigint | undefined
}

export interface StatementPart {
  readonly items: readonly Item[]
  readonly total: bigint | undefined
}

const part = (items: readonly Item[]): StatementPart => ({ items, total: sum(items.map(({ gwei }) => gwei)) })

export function rewardStatement(record: AggregateRecord): RewardStatement {
  const item = (name: string, field: AggregateField): Item => ({ name, gwei: big(record[field]) })
  return {
    consensus: part([
      item('Attestations', 'sumAttestationRewards'),
      { name: 'Sync committee', gwei: syncReward(record) },
      item('Blocks', 'sumConsensusBlockRewards'),
    ]),
    execution: part([item('Priority fees', 'sumPriorityFees'), item('MEV', 'sumBaselineMev')]),
    penalties: part([
      item('Missed attestations', 'sumMissedAttestationPenalties'),
      item('Late source votes', 'sumLateSourcePenalties'),
      item('Late target votes', 'sumLateTargetPenalties'),
      item('Wrong target votes', 'sumWrongTargetPenalties'),
      item('Wrong head votes', 'sumWrongHeadPenalties'),
      item('Sync committee', 'sumSyncCommitteePenalties'),
    ]),
    missed: part([
      item('Attestations', 'sumMissedAttestationRewards'),
      item('Sync committee', 'sumMissedSyncCommitteeRewards'),
      item('Blocks, consensus side', 'sumMissedConsensusBlockRewards'),
      item('Blocks, execution side', 'sumMissedExecutionRewards'),
    ]),
    earnings: big(record.earnings),
    all: big(record.sumAllRewards),
  }
}

export interface Scale {
  readonly unit: 'ETH' | 'gwei'
  /** For drawing only: a pixel has no room for the ninth decimal. */
  readonly toAxisNumber: (gwei: bigint | undefined) => number | null
}

/** The unit in which amounts of this size can be read on an axis: ETH from a thousandth on. */
export function scaleOf(amounts: readonly (bigint | undefined)[]): Scale {
  const isLarge = amounts.some((gwei) => gwei !== undefined && (gwei >= 1_000_000n || gwei <= -1_000_000n))
  const size = isLarge ? 1e9 : 1
  return {
    unit: isLarge ? 'ETH' : 'gwei',
    toAxisNumber: (gwei) => (gwei === undefined ? null : Number(gwei) / size),
  }
}
