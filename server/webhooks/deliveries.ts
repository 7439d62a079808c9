// Stored deliveries to webhooks: what is to be sent, and a log of what was sent. Each kind of event has its own table, in
// the database of the events, so that an event and its deliveries are stored in one transaction.
//
// 1. The log is bounded: of the finished deliveries, only the last `finishedMax` are kept.
import type { State, StateReader, StateWriter, Value } from '#storage/state.ts'

export interface DeliveryTable {
  readonly name: 'webhook_deliveries' | 'fx_deliveries'
  /** Columns that say what a delivery is about. */
  readonly subject: readonly string[]
}

/** A table and its database. */
export interface DeliveryStore {
  readonly state: State
  readonly table: DeliveryTable
}

export interface NewDelivery {
  /** Sent as webhook-id. */
  readonly id: string
  /** Its id in the settings. */
  readonly webhook: string
  readonly event: string
  readonly body: string
}

export type DeliveryStatus = 'pending' | 'delivered' | 'failed'

export interface Delivery extends NewDelivery {
  readonly status: DeliveryStatus
  readonly attempts: number
  readonly createdMs: number
  readonly nextAttemptMs: number | null
  readonly finishedMs: number | null
  readonly lastError: string | null
}

/** With the columns of the table that say what it is about. */
export type DeliveryRow = Delivery & Readonly<Record<string, Value>>

export const giveUpMs = 6 * 60 * 60_000
const finishedMax = 1000

export const deliveryColumns = ({ subject }: DeliveryTable): string =>
  `${['id', 'webhook', 'event', ...subject].join(', ')}, body, status, attempts, created_ms as "createdMs",
  next_attempt_ms as "nextAttemptMs", finished_ms as "finishedMs", last_error as "lastError"`

const ordered = ({ subject }: DeliveryTable): string => ['created_ms', ...subject, 'id'].join(', ')

/** Deliveries that conflict with a stored one change nothing. */
export async function storeDeliveries<D extends NewDelivery>(
  tx: StateWriter,
  { name, subject }: DeliveryTable,
  deliveries: readonly D[],
  nowMs: number,
): Promise<void> {
  if (deliveries.length === 0) return
  const own = ['id', 'webhook', 'event', ...subject, 'body']
  await tx.insertMany(
    name,
    [...own, 'status', 'attempts', 'created_ms', 'next_attempt_ms'],
    deliveries.map((delivery) => [
      ...own.map((column) => delivery[column as keyof D] as Value),
      ...['pending', 0, nowMs, nowMs],
    ]),
    'on conflict do nothing',
  )
  await tx.run(
    `delete from ${name} where status <> 'pending' and id not in (
       select id from ${name} where status <> 'pending' order by created_ms desc, id limit ${finishedMax})`,
  )
}

/** The oldest first. An attempt that is planned later than `giveUpMs` is from before the clock was set back, and is due. */
export const dueDeliveries = (
  { state, table }: DeliveryStore,
  webhook: string,
  nowMs: number,
  limit: number,
): Promise<DeliveryRow[]> =>
  state.all<DeliveryRow>(
    `select ${deliveryColumns(table)} from ${table.name}
     where webhook = ? and status = 'pending' and (next_attempt_ms <= ? or next_attempt_ms > ?)
     order by ${ordered(table)} limit ?`,
    ...[webhook, nowMs, nowMs + giveUpMs, limit],
  )

/** Pending deliveries of other webhooks than these. */
export const pendingExceptFor = (
  { state, table }: DeliveryStore,
  webhooks: readonly string[],
  limit: number,
): Promise<DeliveryRow[]> =>
  state.all<DeliveryRow>(
    `select ${deliveryColumns(table)} from ${table.name}
     where status = 'pending' ${webhooks.map(() => 'and webhook <> ?').join(' ')} order by created_ms, id limit ?`,
    ...[...webhooks, limit],
  )

/** The newest first. */
export const listDeliveries = <D extends Delivery>(
  reader: StateReader,
  table: DeliveryTable,
  limit: number,
): Promise<D[]> =>
  reader.all<D>(
    `select ${deliveryColumns(table)} from ${table.name} order by ${['created_ms', ...table.subject].join(' desc, ')} desc, id limit ?`,
    limit,
  )

export type AttemptResult =
  | { readonly is: 'delivered' | 'failed'; readonly atMs: number; readonly error: string | null }
  | { readonly is: 'retry'; readonly nextAttemptMs: number; readonly error: string }

export const recordAttempt = (
  { state, table }: DeliveryStore,
  { id, attempts }: Pick<Delivery, 'id' | 'attempts'>,
  result: AttemptResult,
): Promise<number> =>
  state.write((tx) =>
    tx.run(
      `update ${table.name}
       set status = ?, attempts = ?, next_attempt_ms = ?, finished_ms = ?, last_error = ? where id = ?`,
      result.is === 'retry' ? 'pending' : result.is,
      attempts + 1,
      result.is === 'retry' ? result.nextAttemptMs : null,
      result.is === 'retry' ? null : result.atMs,
      result.error,
      id,
    ),
  )
