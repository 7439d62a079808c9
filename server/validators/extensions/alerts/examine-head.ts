// Examines the epochs of a network that are not final for missed blocks and missed attestations, if the setting
// `showProvisional` makes them available (ingest/provisional/head-processor.ts).
//
// 1. An event is sent with the finality `head`. It is not sent again while the chain has it.
// 2. An event that the chain no longer has is withdrawn. If nothing is known about its epoch at present, for example
//    because the node does not respond, it stays.
// 3. When the epoch is final, examine-epochs.ts sends the event again, or withdraws it.

import type { Network } from '#api/contract/wire/validators.ts'
import { type ChainTime, epochOfSlot } from '#core/chain-time.ts'
import { networkSettings } from '#runtime/settings/validators.ts'
import type { WebhookEvent } from '#runtime/settings/webhooks.ts'
import type { ValidatorsContext } from '../../context.ts'
import { plainTime } from '../../duties/layout.ts'
import { emptyMissedDuty, type MissedDuty, missedDutiesIn, missedKinds } from '../../duties/missed.ts'
import type { HeadView } from '../../ingest/provisional/head-processor.ts'
import { storeDeliveries } from './deliveries.ts'
import { dutyFindings, type ExamineContext, examinedUntil, longestRow, readOpenAlerts } from './examine-epochs.ts'
import { findAlerts } from './find-alerts.ts'
import {
  type HeadAlert,
  readHeadAlerts,
  subtractAlerts,
  toDelivery,
  toHeadAlerts,
  type WebhookAlert,
  withdrawAlerts,
  writeHeadAlerts,
} from './head-alerts.ts'
import type { WatchedValidator } from './watched-validators.ts'

const headEvents: readonly WebhookEvent[] = ['attestations_missed', 'block_missed']

/**
 * Call this after all final epochs have been examined. Returns the missed blocks and attestations of watched validators
 * in epochs that are not final, and the number of stored deliveries. Undefined: nothing is known about the head.
 */
export async function examineHead(
  context: ExamineContext & Pick<ValidatorsContext, 'validators'>,
  network: Network,
  watched: ReadonlyMap<number, WatchedValidator>,
  signal?: AbortSignal,
) {
  const { ingest, duties, settings, clock } = context
  const view = context.validators.provisional.get(network)
  const from = await examinedUntil(ingest, network)
  const first = view?.epochs[0]?.epoch
  // Otherwise final epochs in between have not been examined, or not stored.
  if (!view || first === undefined || from === undefined || first > from) return undefined
  const { webhooks } = settings.validators
  const longest = longestRow(webhooks)
  const time = plainTime(networkSettings(settings, network))
  const epochs = view.epochs.filter(({ epoch }) => epoch >= from)
  const before = await duties.query(
    'listMissedDuties',
    { network, time, validators: [...watched.keys()], epochs: { from: Math.max(0, from - longest + 1), until: from } },
    signal,
  )
  const missed = epochs
    .flatMap((provisional) => missedDutiesIn(provisional.missed))
    .filter(({ validator }) => watched.has(validator))
  const newest = missedBlocksAfter(view, time).filter(({ validator }) => watched.has(validator))
  const byEpoch = Map.groupBy([...before, ...missed, ...newest], ({ epoch }) => epoch)
  const source = { watched, byEpoch, longest }
  const open = await readOpenAlerts(ingest, network, webhooks)
  const found = webhooks.flatMap((webhook): WebhookAlert[] => {
    const only = (events: readonly WebhookEvent[]) => ({
      ...webhook,
      events: webhook.events.filter((event) => events.includes(event)),
    })
    let openAlerts = open.get(webhook.id) ?? new Map()
    const alerts = epochs.flatMap(({ epoch }) => {
      const result = findAlerts(dutyFindings(source, epoch), only(headEvents), openAlerts)
      openAlerts = result.open
      return result.alerts
    })
    for (const epoch of new Set(newest.map((duty) => duty.epoch)))
      alerts.push(...findAlerts(dutyFindings(source, epoch), only(['block_missed']), new Map()).alerts)
    return alerts.map((alert) => ({ webhook: webhook.id, alert }))
  })
  const sent = await readHeadAlerts(ingest, network)
  const isKnown = ({ event, epoch }: HeadAlert) =>
    epochs.some((provisional) => provisional.epoch === epoch) ||
    (event === 'block_missed' && isAtHead(view, time, epoch))
  const withdrawn = withdrawAlerts(sent.filter(isKnown), found, { webhooks, watched })
  const added = withoutSent(found, sent)
  const deliveries = [...added, ...withdrawn].map((alert) => toDelivery(context, network, alert, 'head'))
  const current = toHeadAlerts(found)
  const kept = subtractAlerts(sent, current).filter((alert) => !isKnown(alert))
  const next = [...current, ...kept.filter(({ webhook }) => webhooks.some(({ id }) => id === webhook))]
  if (subtractAlerts(next, sent).length > 0 || subtractAlerts(sent, next).length > 0) {
    await ingest.write(async (tx) => {
      await storeDeliveries(tx, deliveries, clock.now())
      await writeHeadAlerts(tx, network, next)
    })
  }
  const isShown = ({ kind, delay }: MissedDuty) =>
    missedKinds[kind] === 'noBlock' || (missedKinds[kind] === 'vote' && delay === 0)
  return { missed: [...missed, ...newest].filter(isShown), deliveries: deliveries.length }
}

/** The alerts without validators and slots about which the same was sent. */
function withoutSent(found: readonly WebhookAlert[], sent: readonly HeadAlert[]): WebhookAlert[] {
  return found.flatMap(({ webhook, alert }) => {
    const added = Map.groupBy(subtractAlerts(toHeadAlerts([{ webhook, alert }]), sent), ({ validator }) => validator)
    const validators = alert.validators
      .filter(({ index }) => added.has(index))
      .map((one) => (one.slots ? { ...one, slots: added.get(one.index)?.map(({ slot }) => slot) ?? [] } : one))
    return validators.length > 0 ? [{ webhook, alert: { ...alert, validators } }] : []
  })
}

/** Whether the blocks of the epoch are known up to the head. */
function isAtHead({ duties }: HeadView, time: ChainTime, epoch: number): boolean {
  const headEpoch = duties && epochOfSlot(time, duties.headSlot)
  return headEpoch !== undefined && (epoch === headEpoch || epoch === headEpoch - 1)
}

/** Missed blocks of the epochs after the provisional ones. */
function missedBlocksAfter({ epochs, duties }: HeadView, time: ChainTime): MissedDuty[] {
  const from = (epochs.at(-1)?.epoch ?? 0) + 1
  return [...(duties?.missedBlocks ?? [])]
    .map(([slot, validator]) => ({ validator, epoch: epochOfSlot(time, slot), slot }))
    .filter(({ epoch }) => epoch >= from)
    .map((duty) => ({ ...emptyMissedDuty, ...duty, kind: missedKinds.indexOf('noBlock') }))
}
