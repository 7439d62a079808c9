// The deliveries of alerts. A delivery about a final epoch is unique by webhook, network, event and epoch. Storing it again
// changes nothing.
import type { Network } from '#api/contract/wire/validators.ts'
import type { State, StateReader, StateWriter } from '#storage/state.ts'
import * as webhooks from '#webhooks/deliveries.ts'
import type { Finality } from './delivery-body.ts'

interface AlertSubject {
  readonly network: Network
  readonly epoch: number
  readonly finality: Finality
  /** How many validators the event is about. */
  readonly validators: number
}

export type NewDelivery = webhooks.NewDelivery & AlertSubject
export type Delivery = webhooks.Delivery & AlertSubject

const table = { name: 'webhook_deliveries', subject: ['epoch', 'network', 'finality', 'validators'] } as const

export const alertDeliveries = (ingest: State): webhooks.DeliveryStore => ({ state: ingest, table })

export const storeDeliveries = (tx: StateWriter, deliveries: readonly NewDelivery[], nowMs: number): Promise<void> =>
  webhooks.storeDeliveries(tx, table, deliveries, nowMs)

/** The newest first. */
export const listDeliveries = (reader: StateReader, limit: number): Promise<Delivery[]> =>
  webhooks.listDeliveries<Delivery>(reader, table, limit)
