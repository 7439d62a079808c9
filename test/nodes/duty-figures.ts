// Compares the figures of 4.5, 4.6 and 4.7 with the duties and rewards that the clients report (duty-truth.ts). The formulas
// are those of docs/methodology.md#scores, written again.
import { getJson } from './calls.ts'
import type { Comparison } from './compare.ts'
import type { DutyRow, EpochRows, ListedValidator } from './duty-truth.ts'
import { networkName, slotsPerEpoch } from './genesis.ts'

type Figures = Record<string, number | null>
type Numbers = Readonly<Record<string, number | null | undefined>>

const scoresOf = (sums: DutyRow) => {
  const { assigned, included, delay, duties, proposed, empty, correctTarget, correctHead } = sums
  const uptime = assigned > 0 ? included / assigned : null
  const correctness = included > 0 ? (included + correctTarget + correctHead) / (3 * included) : null
  const meanDelay = included > 0 ? delay / included : null
  const attester =
    uptime === null ? null : correctness === null || meanDelay === null ? 0 : (100 * uptime * correctness) / meanDelay
  const proposer = duties > 0 ? (100 * (proposed - 0.75 * empty)) / duties : null
  const validator = attester === null || proposer === null ? attester : (3 * proposer + 5 * attester) / 8
  return { uptime, correctness, meanDelay, attester, proposer, validator }
}

const meanOf = (values: readonly (number | null)[]): number | null => {
  const known = values.filter((value) => value !== null)
  return known.length > 0 ? known.reduce((sum, value) => sum + value, 0) / known.length : null
}

function addRows(rows: readonly DutyRow[]): DutyRow | undefined {
  const [first, ...others] = rows
  if (!first) return undefined
  const sums: Record<string, number> = { ...first }
  for (const row of others) for (const [name, value] of Object.entries(row)) sums[name] = (sums[name] ?? 0) + value
  return sums as unknown as DutyRow
}

/** `grains`: what scores are computed for, a validator in a day or in an hour. NaN: not known from the clients. */
function figuresOf(grains: readonly DutyRow[], readsExecution: boolean): Figures {
  const sums = addRows(grains) as DutyRow
  // A validator that was never active cannot have been paid.
  const hasExecution = readsExecution || sums.assigned === 0
  const { uptime, correctness, meanDelay } = scoresOf(sums)
  const scores = grains.map(scoresOf)
  const penalties = sums.lateSourcePenalty + sums.wrongTargetPenalty + sums.missedPenalty + sums.syncPenalty
  return {
    ...{ uptime, avgCorrectness: correctness, avgInclusionDelay: meanDelay },
    attesterEffectiveness: meanOf(scores.map(({ attester }) => attester)),
    validatorEffectiveness: meanOf(scores.map(({ validator }) => validator)),
    ...{ sumInclusionDelay: sums.delay, totalAttestationAssignments: sums.assigned },
    ...{ totalAttestations: sums.inclusions, totalUniqueAttestations: sums.included },
    sumMissedAttestations: sums.assigned - sums.included,
    ...{ sumCorrectSource: sums.included, sumCorrectTarget: sums.correctTarget, sumCorrectHead: sums.correctHead },
    ...{ sumWrongTargetVotes: sums.included - sums.correctTarget, sumWrongHeadVotes: sums.included - sums.correctHead },
    ...{ sumLateSourceVotes: sums.lateSource, sumLateTargetVotes: 0 },
    ...{ sumLateSourcePenalties: sums.lateSourcePenalty, sumLateTargetPenalties: 0 },
    ...{ sumWrongTargetPenalties: sums.wrongTargetPenalty, sumWrongHeadPenalties: 0 },
    ...{ sumMissedAttestationPenalties: sums.missedPenalty, sumSyncCommitteePenalties: sums.syncPenalty },
    estimatedPenalties: penalties,
    ...{ sumAttestationRewards: sums.attestationReward, sumConsensusBlockRewards: sums.blockReward },
    estimatedRewards: sums.attestationReward + sums.syncReward + sums.blockReward,
    sumMissedAttestationRewards: sums.missedAttestationReward,
    ...{ sumMissedSyncCommitteeRewards: sums.missedSyncReward, sumMissedConsensusBlockRewards: sums.missedBlockReward },
    ...{ syncSignatureCount: sums.signatures, proposerDutiesCount: sums.duties, proposedCount: sums.proposed },
    ...{ executionProposedEmptyCount: sums.empty, slashesCollected: sums.slashesCollected },
    ...{ slashesReceived: sums.slashesReceived, earnings: sums.earnings },
    sumPriorityFees: hasExecution ? sums.priorityFee : null,
    sumBaselineMev: hasExecution ? sums.mev : null,
    sumExternallySourcedExecutionRewards: hasExecution ? sums.external : null,
    sumMissedExecutionRewards: hasExecution ? sums.missedExecution : null,
    sumAllRewards: hasExecution ? sums.earnings + sums.priorityFee + sums.mev : null,
  }
}

export interface TetradServer {
  readonly url: string
  readonly key: string
  /** Whether it reads payments from an execution node. */
  readonly hasExecution: boolean
}

const requestTetrad = <T>({ url, key }: TetradServer, path: string): Promise<T> =>
  getJson<T>(url, path, undefined, { authorization: `Bearer ${key}`, 'x-validator-network': networkName })

interface ComparedRecords {
  readonly comparison: Comparison
  readonly server: TetradServer
  readonly epochs: readonly EpochRows[]
  readonly validators: readonly ListedValidator[]
  readonly epochsPerHour: number
  readonly epochsPerDay: number
}

const hasBalanceOrDuties = (row: DutyRow | undefined): boolean =>
  row !== undefined && Object.values(row).some((value) => value !== 0)

/** Days of `sizes` epochs in a range of epochs, each cut to the range. */
function grainsOf(rows: readonly EpochRows[], from: number, until: number, size: number, validator: number): DutyRow[] {
  const grains: DutyRow[] = []
  for (let day = Math.floor(from / size); day * size < until; day++) {
    const epochs = rows.slice(Math.max(from, day * size), Math.min(until, (day + 1) * size))
    const row = addRows(epochs.flatMap((epoch) => epoch.get(validator) ?? []))
    if (row && hasBalanceOrDuties(row)) grains.push(row)
  }
  return grains
}

/** 4.5 by hour, by day and over all validators; 4.6 by epoch; `from` and `until`: the epochs that the server has. */
export async function compareFigures(
  { comparison, server, epochs, validators, epochsPerHour, epochsPerDay }: ComparedRecords,
  from: number,
  until: number,
): Promise<void> {
  const indices = validators.map(({ index }) => `indices=${index}`).join('&')
  const path = (query: string) => `/v0/eth/validators/effectiveness?${indices}&size=1000&${query}`
  const compareRecord = (what: string, label: string, record: Numbers, grains: readonly DutyRow[]) => {
    for (const [name, value] of Object.entries(figuresOf(grains, server.hasExecution)))
      if (!Number.isNaN(value)) comparison.compare(what, `${label} ${name}`, record[name], value)
  }
  const windowsOf = (kind: 'hour' | 'day', size: number) =>
    Array.from({ length: Math.ceil(until / size) - Math.floor(from / size) }, (_, at) => {
      const number = Math.floor(from / size) + at
      const [first, end] = [Math.max(from, number * size), Math.min(until, (number + 1) * size)]
      return { kind, size, number, first, end }
    })
  for (const { kind, size, number, first, end } of [
    ...windowsOf('hour', epochsPerHour),
    ...windowsOf('day', epochsPerDay),
  ]) {
    const query = `from=${number}&to=${number}&filterType=${kind}`
    for (const groupBy of ['validator', 'timeWindow']) {
      const { data } = await requestTetrad<{ readonly data: readonly Numbers[] }>(
        server,
        path(`${query}&groupBy=${groupBy}`),
      )
      const grains = validators.map(({ index }) => grainsOf(epochs, first, end, size, Number(index)))
      if (groupBy === 'timeWindow') compareRecord('4.5 of all', `${kind} ${number}`, data[0] ?? {}, grains.flat())
      else
        for (const [at, { index }] of validators.entries()) {
          const record = data.find(({ validatorIndex }) => validatorIndex === Number(index))
          const own = grains[at] as readonly DutyRow[]
          const label = `${kind} ${number} validator ${index}`
          if (own.length === 0 || !record)
            comparison.compare('4.5 records', label, record !== undefined, own.length > 0)
          else compareRecord(`4.5 by ${kind}`, label, record, own)
        }
    }
  }
  // Its records are hours.
  if (epochsPerHour > 1) return
  for (const { index } of validators) {
    const { results } = await requestTetrad<{ readonly results: readonly Readonly<Record<string, unknown>>[] }>(
      server,
      `/v1/eth/validators/${index}/effectiveness?granularity=hour&limit=1000`,
    )
    for (const record of results) {
      const epoch = Number(record.startEpoch)
      const row = epochs[epoch]?.get(Number(index))
      const label = `epoch ${epoch} validator ${index}`
      if (!row) continue
      const scores = scoresOf(row)
      const expected = {
        ...{ avgCorrectness: scores.correctness, avgInclusionDelay: scores.meanDelay, sumInclusionDelay: row.delay },
        ...{ uptime: scores.uptime, attesterEffectiveness: scores.attester, proposerEffectiveness: scores.proposer },
        ...{ validatorEffectiveness: scores.validator, startSlot: epoch * slotsPerEpoch },
        ...{ endSlot: (epoch + 1) * slotsPerEpoch - 1, endEpoch: epoch },
      }
      for (const [name, value] of Object.entries(expected))
        comparison.compare('4.6', `${label} ${name}`, record[name], value)
    }
    const expected = Array.from({ length: until - from }, (_, at) => from + at).filter((epoch) =>
      hasBalanceOrDuties(epochs[epoch]?.get(Number(index))),
    )
    comparison.compare(
      '4.6 records',
      `validator ${index}`,
      results.map(({ startEpoch }) => startEpoch),
      expected,
    )
  }
}

const farEpoch = '18446744073709551615'

/** `depositAddresses`: by public key. */
export async function compareMetadata(
  { comparison, server }: Pick<ComparedRecords, 'comparison' | 'server'>,
  validators: readonly ListedValidator[],
  depositAddresses: ReadonlyMap<string, readonly string[]>,
): Promise<void> {
  for (const { index, validator } of validators) {
    const epochOf = (name: string) => (validator[name] === farEpoch ? null : Number(validator[name]))
    const credentials = validator.withdrawal_credentials ?? ''
    const expected = {
      ...{ validatorIndex: Number(index), validatorPubkey: validator.pubkey },
      ...{ pool: null, dvtNetwork: null, nodeOperators: [], dvtOperators: [], subpool: null },
      depositAddresses: server.hasExecution ? (depositAddresses.get(validator.pubkey ?? '') ?? []) : [],
      ...{ activationEpoch: epochOf('activation_epoch'), exitEpoch: epochOf('exit_epoch') },
      activationEligibilityEpoch: epochOf('activation_eligibility_epoch'),
      withdrawableEpoch: epochOf('withdrawable_epoch'),
      withdrawalAddress: credentials.startsWith('0x00') ? null : `0x${credentials.slice(26)}`,
    }
    const found = await requestTetrad<Readonly<Record<string, unknown>>>(server, `/v0/eth/validators/${index}`)
    for (const [name, value] of Object.entries(expected))
      comparison.compare('4.7', `validator ${index} ${name}`, found[name], value)
  }
}
