// Examines newly stored epochs of a network for events of watched validators, and stores what is to be sent.
//
// 1. Deliveries, open alerts and the cursor are written in one transaction. A process that is killed at any point
//    neither loses nor repeats an event.
// 2. Epochs that ended longer ago than `validators.alertMaxAgeMinutes` are skipped, so that catching up is silent.
// 3. Only epochs are examined whose missed duties are known. Epochs that are repaired later are not examined again.
// 4. Events that were sent before their epoch was final (examine-head.ts) are sent again, or withdrawn.

import type { Network } from '#api/contract/wire/validators.ts'
import { type ChainTime, type Epoch, epochsOfHour, firstEpochEndingAt, hourOf } from '#core/chain-time.ts'
import { holes, type Range, within } from '#core/ranges.ts'
import { networkSettings } from '#runtime/settings/validators.ts'
import type { WebhookSettings } from '#runtime/settings/webhooks.ts'
import { cursorOf, moveCursor } from '#storage/coverage.ts'
import type { StateReader, StateWriter } from '#storage/state.ts'
import type { ValidatorsContext } from '../../context.ts'
import { sumHours } from '../../duties/hour-sums.ts'
import { plainTime } from '../../duties/layout.ts'
import {
  isWithheld,
  type MissedDuty,
  type MissedKind,
  missedEpochs,
  missedKinds,
  payloadFlags,
} from '../../duties/missed.ts'
import type { CheckBlocks, FoundBlockProblem } from './check-blocks.ts'
import { storeDeliveries } from './deliveries.ts'
import { type EpochFindings, findAlerts, type OpenAlerts, type WithheldPayload } from './find-alerts.ts'
import { readHeadAlerts, toDelivery, type WebhookAlert, withdrawAlerts, writeHeadAlerts } from './head-alerts.ts'
import { readWatchedValidators, type WatchedValidator } from './watched-validators.ts'

export type ExamineContext = Pick<ValidatorsContext, 'ingest' | 'duties' | 'settings' | 'clock' | 'random' | 'log'>

export interface ExaminedEpochs {
  readonly epochs: Range
  readonly watched: ReadonlyMap<number, WatchedValidator>
  /** Missed duties of watched validators in these epochs. */
  readonly missed: readonly MissedDuty[]
  readonly blockProblems: readonly FoundBlockProblem[]
  /** Stored deliveries. */
  readonly deliveries: number
}

/** Epochs per transaction. */
const epochsAtOnce = 32

/** The first epoch that was not examined; undefined: none was. */
export const examinedUntil = (state: StateReader, network: Network): Promise<number | undefined> =>
  cursorOf(state, cursorName(network))

const cursorName = (network: Network): string => `alerts/${network}`

/**
 * Undefined: there was nothing to examine. Call it again until it returns undefined. Without `checkBlocks`, blocks are
 * not checked.
 */
export async function examineEpochs(
  context: ExamineContext,
  network: Network,
  { checkBlocks, signal }: { readonly checkBlocks?: CheckBlocks | undefined; readonly signal?: AbortSignal } = {},
): Promise<ExaminedEpochs | undefined> {
  const { ingest, duties, settings, clock } = context
  const time = plainTime(networkSettings(settings, network))
  const known = await missedEpochs(duties, network)
  const maxAgeMs = settings.validators.alertMaxAgeMinutes * 60_000
  const epochs = epochsToExamine(known, {
    from: Math.max((await examinedUntil(ingest, network)) ?? 0, firstEpochEndingAt(time, clock.now() - maxAgeMs)),
    until: known.at(-1)?.until ?? 0,
  })
  if (!epochs) return undefined
  const watched = await readWatchedValidators(context, network)
  const { webhooks } = settings.validators
  const longest = longestRow(webhooks)
  const span = { from: Math.max(0, epochs.from - longest + 1), until: epochs.until }
  const missed = await duties.query(
    'listMissedDuties',
    { network, time, validators: [...watched.keys()], epochs: span },
    signal,
  )
  const blockProblems = (await checkBlocks?.(epochs, watched, signal)) ?? []
  const byEpoch = Map.groupBy(missed, ({ epoch }) => epoch)
  const source = { network, time, known, watched, byEpoch, longest, epochs, blockProblems }
  const found: WebhookAlert[] = []
  let open = await readOpenAlerts(ingest, network, webhooks)
  for (let epoch = epochs.from; epoch < epochs.until; epoch++) {
    const findings = await findingsOf(context, source, epoch as Epoch, signal)
    open = new Map(
      webhooks.map((webhook) => {
        const { alerts, open: next } = findAlerts(findings, webhook, open.get(webhook.id) ?? new Map())
        found.push(...alerts.map((alert) => ({ webhook: webhook.id, alert })))
        return [webhook.id, next]
      }),
    )
  }
  const sentBefore = await readHeadAlerts(ingest, network)
  const sentOfEpochs = sentBefore.filter(({ epoch }) => epoch >= epochs.from && epoch < epochs.until)
  const sentOfLater = sentBefore.filter(({ epoch }) => epoch >= epochs.until)
  const withdrawn = withdrawAlerts(sentOfEpochs, found, { webhooks, watched })
  const deliveries = [...found, ...withdrawn].map((alert) => toDelivery(context, network, alert, 'finalized'))
  await ingest.write(async (tx) => {
    await storeDeliveries(tx, deliveries, clock.now())
    await writeOpenAlerts(tx, network, open)
    await writeHeadAlerts(tx, network, sentOfLater)
    await moveCursor(tx, cursorName(network), epochs.until)
  })
  const examined = missed.filter(({ epoch }) => epoch >= epochs.from)
  return { epochs, watched, missed: examined, blockProblems, deliveries: deliveries.length }
}

/** Missed attestations in a row are counted up to this number. */
export const longestRow = (webhooks: readonly WebhookSettings[]): number =>
  Math.max(1, ...webhooks.map(({ minMissedInARow }) => minMissedInARow))

/** The next known epochs, without a gap. */
function epochsToExamine(known: readonly Range[], span: Range): Range | undefined {
  const [first] = within(known, span)
  return first && { from: first.from, until: Math.min(first.from + epochsAtOnce, first.until) }
}

interface EpochSource {
  readonly network: Network
  readonly time: ChainTime
  readonly known: readonly Range[]
  readonly watched: ReadonlyMap<number, WatchedValidator>
  readonly byEpoch: ReadonlyMap<number, readonly MissedDuty[]>
  readonly longest: number
  readonly epochs: Range
  readonly blockProblems: readonly FoundBlockProblem[]
}

async function findingsOf(
  { duties }: Pick<ExamineContext, 'duties'>,
  source: EpochSource,
  epoch: Epoch,
  signal: AbortSignal | undefined,
): Promise<EpochFindings> {
  const { watched, byEpoch, longest, epochs, blockProblems } = source
  return {
    ...dutyFindings({ watched, byEpoch, longest }, epoch),
    blockProblems: blockProblems.filter((problem) => problem.epoch === epoch),
    hourEarningsGwei: await readHourEarnings(duties, source, epoch, signal),
    exitEpochs: epoch + 1 === epochs.until ? exitsFrom(watched, epochs.from) : undefined,
  }
}

/** Only what missed duties show. */
export function dutyFindings(
  { watched, byEpoch, longest }: Pick<EpochSource, 'watched' | 'byEpoch' | 'longest'>,
  epoch: number,
): EpochFindings {
  const missed = byEpoch.get(epoch) ?? []
  const slotsOf = (kind: MissedKind): ReadonlyMap<number, readonly number[]> => {
    const ofKind = missed.filter((duty) => missedKinds[duty.kind] === kind)
    const byValidator = Map.groupBy(ofKind, ({ validator }) => validator)
    return new Map([...byValidator].map(([validator, all]) => [validator, all.map(({ slot }) => slot)]))
  }
  return {
    epoch,
    watched,
    missedInARow: countInARow(byEpoch, epoch, longest),
    missedBlocks: slotsOf('noBlock'),
    emptyBlocks: slotsOf('emptyBlock'),
    withheldPayloads: withheldIn(missed),
    slashings: slotsOf('slashed'),
    blockProblems: [],
    hourEarningsGwei: undefined,
    exitEpochs: undefined,
  }
}

function withheldIn(missed: readonly MissedDuty[]): EpochFindings['withheldPayloads'] {
  const byValidator = Map.groupBy(missed.filter(isWithheld), ({ validator }) => validator)
  const toPayload = ({ slot, builder, payload }: MissedDuty): WithheldPayload => ({
    ...{ slot, builder: builder - 1 },
    isPaid: payload & payloadFlags.paid ? true : payload & payloadFlags.unpaid ? false : null,
  })
  return new Map([...byValidator].map(([validator, all]) => [validator, all.map(toPayload)]))
}

const exitsFrom = (watched: ReadonlyMap<number, WatchedValidator>, from: number): ReadonlyMap<number, number> =>
  new Map(
    [...watched.values()].flatMap(({ index, exitEpoch }) =>
      exitEpoch !== null && exitEpoch >= from ? [[index, exitEpoch] as const] : [],
    ),
  )

const isMissedVote = ({ kind, delay }: MissedDuty): boolean => missedKinds[kind] === 'vote' && delay === 0

function countInARow(byEpoch: EpochSource['byEpoch'], epoch: number, longest: number): EpochFindings['missedInARow'] {
  const validatorsIn = (at: number) =>
    new Set((byEpoch.get(at) ?? []).filter(isMissedVote).map(({ validator }) => validator))
  const counts = new Map<number, number>()
  let missing = validatorsIn(epoch)
  for (let count = 1; count <= longest && missing.size > 0; count++) {
    for (const validator of missing) counts.set(validator, count)
    missing = missing.intersection(validatorsIn(epoch - count))
  }
  return counts
}

async function readHourEarnings(
  duties: ExamineContext['duties'],
  { network, time, known, watched }: EpochSource,
  epoch: Epoch,
  signal: AbortSignal | undefined,
): Promise<ReadonlyMap<number, number> | undefined> {
  const hour = hourOf(time, epoch)
  const epochs = epochsOfHour(time, hour)
  if (epochs.until !== epoch + 1 || holes(known, epochs).length > 0) return undefined
  const query = { network, time, validators: [...watched.keys()], hours: { from: hour, until: hour + 1 } }
  const earnings = new Map<number, number>()
  for await (const { validator, sums } of sumHours(duties, query, ['earnings'], signal))
    for (const [at, index] of validator.entries()) earnings.set(index, sums.earnings[at] as number)
  return earnings
}

// -------------------------------------------------------------------------------------------------------------- open alerts

interface OpenAlertRow {
  readonly webhook: string
  readonly event: string
  readonly validator_index: number
  readonly since_epoch: number
}

/** By webhook. */
export async function readOpenAlerts(
  state: StateReader,
  network: Network,
  webhooks: readonly WebhookSettings[],
): Promise<ReadonlyMap<string, OpenAlerts>> {
  const rows = await state.all<OpenAlertRow>(
    'select webhook, event, validator_index, since_epoch from open_alerts where network = ?',
    network,
  )
  const ofWebhook = (id: string): OpenAlerts => {
    const byEvent = Map.groupBy(
      rows.filter(({ webhook }) => webhook === id),
      ({ event }) => event,
    )
    const toSince = (rows: readonly OpenAlertRow[]) =>
      new Map(rows.map(({ validator_index, since_epoch }) => [validator_index, since_epoch]))
    return new Map([...byEvent].map(([event, rows]) => [event, toSince(rows)]))
  }
  return new Map(webhooks.map(({ id }) => [id, ofWebhook(id)]))
}

/** The event of a validator that is not above the threshold of a programme. They are examined by day. */
export const openProgramme = (name: string): string => `below_programme:${name}`

/** Also forgets webhooks that are no longer in the settings. */
async function writeOpenAlerts(
  tx: StateWriter,
  network: Network,
  open: ReadonlyMap<string, OpenAlerts>,
): Promise<void> {
  await tx.run('delete from open_alerts where network = ? and event not like ?', network, openProgramme('%'))
  const rows = [...open].flatMap(([webhook, byEvent]) =>
    [...byEvent].flatMap(([event, validators]) =>
      [...validators].map(([validator, sinceEpoch]) => [network, webhook, event, validator, sinceEpoch]),
    ),
  )
  await tx.insertMany(
    'open_alerts',
    ['network', 'webhook', 'event', 'validator_index', 'since_epoch'],
    rows as [string, string, string, number, number][],
  )
}
