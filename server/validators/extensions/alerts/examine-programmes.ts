// Examines once per chain day whether watched validators are above the thresholds of programmes
// (behaviour/validators.md#programmes), and stores what is to be sent.
//
// 1. A day is examined when the network has a complete summary of it. Only the newest such day is examined.
// 2. Deliveries, open alerts and the cursor are written in one transaction.
// 3. A day that ended longer ago than `validators.alertMaxAgeMinutes` causes no events, as with epochs. Its state is
//    stored by the next day.

import type { Network } from '#api/contract/wire/validators.ts'
import { type ChainDay, chainDays, epochStartMs } from '#core/chain-time.ts'
import { networkSettings } from '#runtime/settings/validators.ts'
import type { Programme, WebhookEvent, WebhookSettings } from '#runtime/settings/webhooks.ts'
import { cursorOf, moveCursor } from '#storage/coverage.ts'
import type { StateWriter } from '#storage/state.ts'
import { plainTime } from '../../duties/layout.ts'
import { appliesTo, evaluateProgramme, type ProgrammeResult, programmesOf } from '../comparison/programmes.ts'
import { readComparison, toNumber } from '../comparison/read-comparison.ts'
import { storeDeliveries } from './deliveries.ts'
import { type ExamineContext, openProgramme, readOpenAlerts } from './examine-epochs.ts'
import type { OpenAlerts } from './find-alerts.ts'
import { describeValidators } from './find-alerts.ts'
import { toDelivery, type WebhookAlert } from './head-alerts.ts'
import type { WatchedValidator } from './watched-validators.ts'

export interface ExaminedProgrammes {
  readonly day: number
  /** By programme: the watched validators that are not above its threshold, and all that it applies to. */
  readonly programmes: readonly ProgrammeState[]
  /** Stored deliveries. */
  readonly deliveries: number
}

export interface ProgrammeState {
  readonly programme: Programme
  readonly results: ReadonlyMap<number, ProgrammeResult>
}

const cursorName = (network: Network): string => `programmes/${network}`

/** Undefined: there is nothing to examine, or `after` is the newest complete day. */
export async function examineProgrammes(
  context: ExamineContext,
  network: Network,
  watched: ReadonlyMap<number, WatchedValidator>,
  { after = -1, signal }: { readonly after?: number; readonly signal?: AbortSignal } = {},
): Promise<ExaminedProgrammes | undefined> {
  const { duties, ingest, settings, clock } = context
  const programmes = programmesOf(settings, network)
  if (programmes.length === 0 || watched.size === 0) return undefined
  const time = plainTime(networkSettings(settings, network))
  const days = Math.max(...programmes.map((programme) => programme.days))
  const known = await readComparison(context, network, time, { validators: [], days: 1 })
  const day = known.days && known.network.has(known.days.from) ? known.days.from : undefined
  if (day === undefined || day <= after) return undefined
  const comparison = await readComparison({ duties }, network, time, { validators: [...watched.keys()], days, signal })
  // A day that was summarized meanwhile is examined with the next call.
  if (comparison.days?.until !== day + 1) return undefined
  const states = programmes.map((programme): ProgrammeState => {
    const members = [...watched.values()].filter((validator) => appliesTo(programme, validator))
    const results = members.map(({ index }) => [index, evaluateProgramme(comparison, programme, index)] as const)
    return { programme, results: new Map(results) }
  })
  const until = chainDays(time).epochsOf(day as ChainDay).until
  const isRecent = epochStartMs(time, until) >= clock.now() - settings.validators.alertMaxAgeMinutes * 60_000
  const isExamined = ((await cursorOf(ingest, cursorName(network))) ?? 0) > day
  if (isExamined || !isRecent) return { day, programmes: states, deliveries: 0 }
  const { webhooks } = settings.validators
  const openBefore = await readOpenAlerts(ingest, network, webhooks)
  const found = webhooks.map((webhook) =>
    findProgrammeAlerts(webhook, states, watched, until - 1, openBefore.get(webhook.id) ?? new Map()),
  )
  const deliveries = found.flatMap(({ alerts }) =>
    alerts.map((alert) => toDelivery(context, network, alert, 'finalized')),
  )
  await ingest.write(async (tx) => {
    await storeDeliveries(tx, deliveries, clock.now())
    await writeOpenProgrammes(
      tx,
      network,
      found.flatMap(({ open }) => open),
    )
    await moveCursor(tx, cursorName(network), day + 1)
  })
  return { day, programmes: states, deliveries: deliveries.length }
}

interface OpenProgramme {
  readonly webhook: string
  readonly event: string
  readonly validator: number
  readonly since: number
}

function findProgrammeAlerts(
  { id: webhook, events }: WebhookSettings,
  states: readonly ProgrammeState[],
  watched: ReadonlyMap<number, WatchedValidator>,
  epoch: number,
  before: OpenAlerts,
): { readonly alerts: readonly WebhookAlert[]; readonly open: readonly OpenProgramme[] } {
  if (!events.includes('below_programme')) return { alerts: [], open: [] }
  const open: OpenProgramme[] = []
  const details = { below_programme: new Map<number, object[]>(), above_programme: new Map<number, object[]>() }
  for (const { programme, results } of states) {
    const event = openProgramme(programme.name)
    const opened = before.get(event) ?? new Map<number, number>()
    for (const [validator, result] of results) {
      const since = opened.get(validator)
      // Without a value, the state has not changed.
      const isBelow = result.isBelow ?? since !== undefined
      if (isBelow) open.push({ webhook, event, validator, since: since ?? epoch })
      if (isBelow === (since !== undefined)) continue
      const kind = isBelow ? 'below_programme' : 'above_programme'
      const entry = { ...describeResult(result), ...(since !== undefined && { sinceEpoch: since }) }
      details[kind].set(validator, [...(details[kind].get(validator) ?? []), entry])
    }
  }
  const alerts = (Object.keys(details) as (keyof typeof details)[]).flatMap((event): WebhookAlert[] => {
    const ofEvent = new Map([...details[event]].map(([validator, programmes]) => [validator, { programmes }]))
    const validators = describeValidators(watched, ofEvent)
    const isWanted = events.includes(event satisfies WebhookEvent) && validators.length > 0
    return isWanted ? [{ webhook, alert: { event, epoch, validators } }] : []
  })
  return { alerts, open }
}

/** In points of 0 to 100. */
const describeResult = ({ programme: { name, figure }, days, value, threshold }: ProgrammeResult) => ({
  ...{ name, figure, days },
  value: toNumber(value),
  threshold: toNumber(threshold),
})

/** Replaces all of them. */
async function writeOpenProgrammes(tx: StateWriter, network: Network, open: readonly OpenProgramme[]): Promise<void> {
  await tx.run('delete from open_alerts where network = ? and event like ?', network, openProgramme('%'))
  await tx.insertMany(
    'open_alerts',
    ['network', 'webhook', 'event', 'validator_index', 'since_epoch'],
    open.map(({ webhook, event, validator, since }) => [network, webhook, event, validator, since]),
  )
}
