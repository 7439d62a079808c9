// Events that were sent before their epoch was final. They are stored until the epoch is final or the event is
// withdrawn, because the chain no longer has it.

import type { Network } from '#api/contract/wire/validators.ts'
import { networkSettings } from '#runtime/settings/validators.ts'
import type { WebhookEvent, WebhookSettings } from '#runtime/settings/webhooks.ts'
import type { StateReader, StateWriter } from '#storage/state.ts'
import type { ValidatorsContext } from '../../context.ts'
import { plainTime } from '../../duties/layout.ts'
import type { NewDelivery } from './deliveries.ts'
import { deliveryBody, type Finality } from './delivery-body.ts'
import { type Alert, describeValidators } from './find-alerts.ts'
import type { WatchedValidator } from './watched-validators.ts'

export interface WebhookAlert {
  /** Its id in the settings. */
  readonly webhook: string
  readonly alert: Alert
}

/** One validator of an event that was sent; of `block_missed`, one of its blocks. */
export interface HeadAlert {
  readonly webhook: string
  readonly event: WebhookEvent
  readonly epoch: number
  readonly validator: number
  /** 0: the event is about the epoch. No validator proposes slot 0. */
  readonly slot: number
}

export const readHeadAlerts = (state: StateReader, network: Network): Promise<HeadAlert[]> =>
  state.all<HeadAlert>(
    `select webhook, event, epoch, validator_index as validator, slot from head_alerts where network = ?
     order by webhook, event, epoch, validator_index, slot`,
    network,
  )

/** Replaces all of them. */
export async function writeHeadAlerts(tx: StateWriter, network: Network, alerts: readonly HeadAlert[]): Promise<void> {
  await tx.run('delete from head_alerts where network = ?', network)
  await tx.insertMany(
    'head_alerts',
    ['network', 'webhook', 'event', 'epoch', 'validator_index', 'slot'],
    alerts.map(({ webhook, event, epoch, validator, slot }) => [network, webhook, event, epoch, validator, slot]),
  )
}

const keyOf = ({ webhook, event, epoch, validator, slot }: HeadAlert): string =>
  [webhook, event, epoch, validator, slot].join(' ')

export const toHeadAlerts = (all: readonly WebhookAlert[]): HeadAlert[] =>
  all.flatMap(({ webhook, alert: { event, epoch, validators } }) =>
    validators.flatMap(({ index, slots = [0] }) =>
      slots.map((slot) => ({ webhook, event, epoch, validator: index, slot })),
    ),
  )

/** Those that are not among the others. */
export function subtractAlerts(all: readonly HeadAlert[], others: readonly HeadAlert[]): HeadAlert[] {
  const known = new Set(others.map(keyOf))
  return all.filter((alert) => !known.has(keyOf(alert)))
}

/** The events that withdraw those of `sent` that were not found again. */
export function withdrawAlerts(
  sent: readonly HeadAlert[],
  found: readonly WebhookAlert[],
  {
    webhooks,
    watched,
  }: { readonly webhooks: readonly WebhookSettings[]; readonly watched: ReadonlyMap<number, WatchedValidator> },
): WebhookAlert[] {
  const gone = subtractAlerts(sent, toHeadAlerts(found))
  return webhooks
    .filter(({ events }) => events.includes('withdrawn'))
    .flatMap(({ id }) => {
      const byEpoch = Map.groupBy(
        gone.filter(({ webhook }) => webhook === id),
        ({ epoch }) => epoch,
      )
      return [...byEpoch].map(([epoch, rows]) => {
        const byValidator = Map.groupBy(rows, ({ validator }) => validator)
        const details = new Map(
          [...byValidator].map(([validator, all]) => {
            const slots = all.map(({ slot }) => slot).filter((slot) => slot > 0)
            const after = [...new Set(all.map(({ event }) => event))]
            return [validator, { after, ...(slots.length > 0 && { slots }) }]
          }),
        )
        return { webhook: id, alert: { event: 'withdrawn', epoch, validators: describeValidators(watched, details) } }
      })
    })
}

export function toDelivery(
  { settings, clock, random }: Pick<ValidatorsContext, 'settings' | 'clock' | 'random'>,
  network: Network,
  { webhook, alert }: WebhookAlert,
  finality: Finality,
): NewDelivery {
  const id = random.uuid()
  const time = plainTime(networkSettings(settings, network))
  const body = JSON.stringify(deliveryBody({ id, network, time, nowMs: clock.now(), alert, finality }))
  const { event, epoch, validators } = alert
  return { id, webhook, event, network, epoch, finality, validators: validators.length, body }
}
