// Rewards, penalties and missed rewards of a validator as items that add up, in whole gwei.
import type { AggregateField, AggregateRecord } from '#api/contract/wire/validators.ts'

type Amount = number | bigint | undefined

interface Item {
  readonly name: string
  /** Undefined: unknown, because the data source was not read. */
  readonly gwei: bigint | undefined
}

const toBigInt = (value: Amount): bigint | undefined => (value === undefined ? undefined : BigInt(value))

/** Undefined if any value is unknown. */
const sum = (values: readonly (bigint | undefined)[]): bigint | undefined =>
  values.reduce((total, value) => (total === undefined || value === undefined ? undefined : total + value), 0n)

/** The API has no field for sync committee rewards, so they are the rest of the estimate. */
function syncReward(record: AggregateRecord): bigint | undefined {
  const [all, votes, blocks] = [record.estimatedRewards, record.sumAttestationRewards, record.sumConsensusBlockRewards]
  return all === undefined || votes === undefined || blocks === undefined
    ? undefined
    : BigInt(all) - BigInt(votes) - BigInt(blocks)
}

export interface StatementPart {
  readonly items: readonly Item[]
  readonly total: bigint | undefined
}

const part = (items: readonly Item[]): StatementPart => ({ items, total: sum(items.map(({ gwei }) => gwei)) })

export function rewardStatement(record: AggregateRecord) {
  const item = (name: string, field: AggregateField): Item => ({ name, gwei: toBigInt(record[field]) })
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
      item('Blocks, consensus', 'sumMissedConsensusBlockRewards'),
      item('Blocks, execution', 'sumMissedExecutionRewards'),
    ]),
    /** Balance change without deposits and withdrawals. */
    earnings: toBigInt(record.earnings),
    /** The same plus execution rewards. */
    all: toBigInt(record.sumAllRewards),
  }
}

/** A readable unit for an axis: ETH if any amount is at least 0.001 ETH, else gwei. */
export function scaleOf(amounts: readonly (bigint | undefined)[]) {
  const isLarge = amounts.some((gwei) => gwei !== undefined && (gwei >= 1_000_000n || gwei <= -1_000_000n))
  const size = isLarge ? 1e9 : 1
  return {
    unit: isLarge ? 'ETH' : 'gwei',
    /** For drawing only; not exact. */
    toAxisNumber: (gwei: bigint | undefined): number | null => (gwei === undefined ? null : Number(gwei) / size),
  }
}
