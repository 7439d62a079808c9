// What 4.5, 4.6 and 4.7 must return about the recorded chain that crosses the fork to Gloas: computed from its truth
// (gloas-rows.ts) and from the JSON of its states, without the code of the server.
import type { ChainTime } from '#core/chain-time.ts'
import { exchangesOf } from './beacon-replay.ts'
import { gloasRecording } from './gloas-recording.ts'
import { dayOf, figuresOf, type Granularity, groupBy, type Row, sum, windowOf } from './validators-reference.ts'

/** The configured hours and days are short, because the chain has 20 epochs. */
export const gloasTime: ChainTime = {
  ...{ genesisUnix: 1_790_000_000, slotSeconds: 6, slotsPerEpoch: 8, epochsPerHour: 2, epochsPerDay: 4 },
}

export type Reply = Readonly<Record<string, number | string | null>>

const isPresent = ({ epoch: _, validator: __, ...figures }: Row): boolean =>
  Object.values(figures).some((value) => value !== 0)

/** Windows in which any of the validators has a duty or a change of its balance, oldest first. */
const windowsOf = (time: ChainTime, utc: boolean, granularity: Granularity, rows: readonly Row[]): Row[][] =>
  groupBy(rows.filter(isPresent), ({ epoch }) => windowOf(time, utc, granularity, epoch))

/** Records of 4.5, newest window first. `rows`: those of the requested validators. */
export function aggregateReplies(
  time: ChainTime,
  by: 'validator' | 'timeWindow',
  granularity: Exclude<Granularity, 'hour'>,
  rows: readonly Row[],
): Reply[] {
  const windows = windowsOf(time, false, granularity, rows).reverse()
  const byIndex = (group: readonly Row[]) => groupBy(group, ({ validator }) => String(validator).padStart(9, '0'))
  const read = readEpochs(rows)
  const all = by === 'validator' ? windows.flatMap(byIndex) : windows
  return all.map((group) => ({
    ...(by === 'validator' && { validatorIndex: group[0]?.validator ?? -1 }),
    ...aggregateReply(time, granularity, group, read),
  }))
}

const readEpochs = (rows: readonly Row[]): number[] => [...new Set(rows.map(({ epoch }) => epoch))]

/** The epochs of a window that have been read. */
function epochsOf(time: ChainTime, utc: boolean, granularity: Granularity, of: Row, read: readonly number[]) {
  const window = windowOf(time, utc, granularity, of.epoch)
  const epochs = read.filter((epoch) => windowOf(time, utc, granularity, epoch) === window)
  return { startEpoch: Math.min(...epochs), endEpoch: Math.max(...epochs) }
}

/** Without execution amounts if one of them is unknown. */
function aggregateReply(
  time: ChainTime,
  granularity: Granularity,
  group: readonly Row[],
  read: readonly number[],
): Reply {
  const { startEpoch, endEpoch } = epochsOf(time, false, granularity, group[0] as Row, read)
  const [startDay, endDay] = [dayOf(time, false, startEpoch), dayOf(time, false, endEpoch)]
  const { proposerEffectiveness: _, ...figures } = figuresOf(time, false, granularity, group)
  const total = (of: (row: Row) => number) => sum(group, of)
  const penalties = {
    sumLateSourcePenalties: total((row) => row.late_source_penalty),
    sumLateTargetPenalties: total((row) => row.late_target_penalty),
    sumMissedAttestationPenalties: total((row) => row.missed_attestation_penalty),
    sumSyncCommitteePenalties: total((row) => row.sync_penalty),
    sumWrongHeadPenalties: total((row) => row.wrong_head_penalty),
    sumWrongTargetPenalties: total((row) => row.wrong_target_penalty),
  }
  const isExecutionKnown = group.every((row) => row.execution_unknown === 0)
  return {
    ...(granularity === 'day' && { day: startDay }),
    ...{ startDay, endDay, startEpoch, endEpoch },
    ...Object.fromEntries(Object.entries(figures).filter(([, value]) => value !== null)),
    ...penalties,
    earnings: total((row) => row.earnings),
    estimatedPenalties: Object.values(penalties).reduce((gwei, penalty) => gwei + penalty, 0),
    estimatedRewards: total((row) => row.attestation_reward + row.block_reward + row.sync_reward),
    executionProposedEmptyCount: total((row) => row.proposed_empty),
    proposedCount: total((row) => row.proposed),
    proposerDutiesCount: total((row) => row.proposer_duties),
    slashesCollected: total((row) => row.slashes_collected),
    slashesReceived: total((row) => row.slashes_received),
    syncSignatureCount: total((row) => row.sync_signatures),
    totalAttestationAssignments: total((row) => row.assigned),
    totalAttestations: total((row) => row.inclusions),
    totalUniqueAttestations: total((row) => row.included),
    sumAttestationRewards: total((row) => row.attestation_reward),
    sumConsensusBlockRewards: total((row) => row.block_reward),
    sumCorrectHead: total((row) => row.correct_head),
    sumCorrectSource: total((row) => row.correct_source),
    sumCorrectTarget: total((row) => row.correct_target),
    sumInclusionDelay: total((row) => row.inclusion_delay),
    sumLateSourceVotes: total((row) => row.late_source),
    sumLateTargetVotes: total((row) => row.late_target),
    sumMissedAttestationRewards: total((row) => row.missed_attestation_reward),
    sumMissedAttestations: total((row) => row.assigned - row.included),
    sumMissedConsensusBlockRewards: total((row) => row.missed_block_reward),
    sumMissedSyncCommitteeRewards: total((row) => row.missed_sync_reward),
    sumWrongHeadVotes: total((row) => row.included - row.correct_head),
    sumWrongTargetVotes: total((row) => row.included - row.correct_target),
    ...(isExecutionKnown && {
      sumAllRewards: total((row) => row.earnings + row.priority_fee + row.baseline_mev),
      sumBaselineMev: total((row) => row.baseline_mev),
      sumExternallySourcedExecutionRewards: total((row) => row.external_reward),
      sumMissedExecutionRewards: total((row) => row.missed_execution_reward),
      sumPriorityFees: total((row) => row.priority_fee),
    }),
  }
}

/** Records of 4.6 about one validator, oldest window first. `rows`: its rows. */
export function effectivenessReplies(
  time: ChainTime,
  utc: boolean,
  granularity: Granularity,
  rows: readonly Row[],
): Reply[] {
  const read = readEpochs(rows)
  return windowsOf(time, utc, granularity, rows).map((group) => {
    const { startEpoch, endEpoch } = epochsOf(time, utc, granularity, group[0] as Row, read)
    const [startDay, endDay] = [dayOf(time, utc, startEpoch), dayOf(time, utc, endEpoch)]
    const secondsAt = (epoch: number) => time.genesisUnix + epoch * time.slotsPerEpoch * time.slotSeconds
    const momentAt = (epoch: number) => new Date(secondsAt(epoch) * 1000).toISOString()
    const isDay = granularity === 'day' || granularity === 'hour'
    const dayStart = utc ? startEpoch : startDay * time.epochsPerDay
    return {
      validatorIndex: group[0]?.validator ?? -1,
      hour: granularity === 'hour' ? Math.floor(startEpoch / time.epochsPerHour) : null,
      day: isDay ? startDay : null,
      ...{ startDay, endDay, startEpoch, endEpoch },
      startSlot: startEpoch * time.slotsPerEpoch,
      endSlot: (endEpoch + 1) * time.slotsPerEpoch - 1,
      startDate: momentAt(startEpoch).slice(0, 10),
      endDate: momentAt(endEpoch).slice(0, 10),
      date: isDay ? momentAt(dayStart).slice(0, 10) : null,
      startTimestamp: momentAt(startEpoch),
      endTimestamp: momentAt(endEpoch + 1),
      sumInclusionDelay: sum(group, (row) => row.inclusion_delay),
      ...figuresOf(time, utc, granularity, group),
    }
  })
}

interface StateValidator {
  readonly index: string
  readonly validator: Readonly<Record<string, string>>
}

const farFuture = '18446744073709551615'

/** Records of 4.7, by index: the validators in the first state of an epoch. */
export function metadataReplies(epoch: number): Readonly<Record<string, unknown>>[] {
  const path = `/eth/v1/beacon/states/${epoch * gloasTime.slotsPerEpoch}/validators`
  const found = exchangesOf(`${gloasRecording}/exchanges.ndjson`).find((exchange) => exchange.path === path)
  const { data } = JSON.parse(found?.body ?? '{"data":[]}') as { data: StateValidator[] }
  return data.map(({ index, validator }) => {
    const epochIn = (name: string) => (validator[name] === farFuture ? null : Number(validator[name]))
    const credentials = validator.withdrawal_credentials ?? ''
    return {
      validatorIndex: Number(index),
      validatorPubkey: validator.pubkey,
      ...{ pool: null, dvtNetwork: null, subpool: null, nodeOperators: [], depositAddresses: [], dvtOperators: [] },
      activationEligibilityEpoch: epochIn('activation_eligibility_epoch'),
      activationEpoch: epochIn('activation_epoch'),
      exitEpoch: epochIn('exit_epoch'),
      withdrawableEpoch: epochIn('withdrawable_epoch'),
      withdrawalAddress: /^0x0[12]/.test(credentials) ? `0x${credentials.slice(26)}` : null,
    }
  })
}
