// The stored deliveries: what is to be sent to webhooks, and a log of what was sent.
//
// 1. A delivery about a final epoch is unique by webhook, network, event and epoch. Storing it again changes nothing.
// 2. The log is bounded: of the finished deliveries, only the last `finishedMax` are kept.
import type { Network } from '#api/contract/wire/validators.ts'
import type { State, StateReader, StateWriter } from '#storage/state.ts'
import type { Finality } from './delivery-body.ts'

export interface NewDelivery {
  readonly id: string
  readonly webhook: string
  readonly event: string
  readonly network: Network
  readonly epoch: number
  readonly finality: Finality
  /** How many validators the event is about. */
  readonly validators: number
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

export const giveUpMs = 6 * 60 * 60_000
const finishedMax = 1000

const columns = `id, webhook, event, network, epoch, finality, validators, body, status, attempts, created_ms as "createdMs",
  next_attempt_ms as "nextAttemptMs", finished_ms as "finishedMs", last_error as "lastError"`

export async function storeDeliveries(
  tx: StateWriter,
  deliveries: readonly NewDelivery[],
  nowMs: number,
): Promise<void> {
  if (deliveries.length === 0) return
  await tx.insertMany(
    'webhook_deliveries',
    [
      ...['id', 'webhook', 'event', 'network', 'epoch', 'finality', 'validators', 'body'],
      ...['status', 'attempts', 'created_ms', 'next_attempt_ms'],
    ],
    deliveries.map(({ id, webhook, event, network, epoch, finality, validators, body }) => [
      ...[id, webhook, event, network, epoch, finality, validators, body],
      ...['pending', 0, nowMs, nowMs],
    ]),
    'on conflict do nothing',
  )
  await tx.run(
    `delete from webhook_deliveries where status <> 'pending' and id not in (
       select id from webhook_deliveries where status <> 'pending' order by created_ms desc, id limit ${finishedMax})`,
  )
}

/** The oldest first. An attempt that is planned later than `giveUpMs` is from before the clock was set back, and is due. */
export const dueDeliveries = (state: StateReader, webhook: string, nowMs: number, limit: number): Promise<Delivery[]> =>
  state.all<Delivery>(
    `select ${columns} from webhook_deliveries
     where webhook = ? and status = 'pending' and (next_attempt_ms <= ? or next_attempt_ms > ?)
     order by created_ms, epoch, id limit ?`,
    ...[webhook, nowMs, nowMs + giveUpMs, limit],
  )

/** Pending deliveries of other webhooks than these. */
export const pendingExceptFor = (state: StateReader, webhooks: readonly string[], limit: number): Promise<Delivery[]> =>
  state.all<Delivery>(
    `select ${columns} from webhook_deliveries
     where status = 'pending' ${webhooks.map(() => 'and webhook <> ?').join(' ')} order by created_ms, id limit ?`,
    ...[...webhooks, limit],
  )

/** The newest first. */
export const listDeliveries = (state: StateReader, limit: number): Promise<Delivery[]> =>
  state.all<Delivery>(
    `select ${columns} from webhook_deliveries order by created_ms desc, epoch desc, id limit ?`,
    limit,
  )

export type AttemptResult =
  | { readonly is: 'delivered' | 'failed'; readonly atMs: number; readonly error: string | null }
  | { readonly is: 'retry'; readonly nextAttemptMs: number; readonly error: string }

export const recordAttempt = (
  state: State,
  { id, attempts }: Pick<Delivery, 'id' | 'attempts'>,
  result: AttemptResult,
): Promise<number> =>
  state.write((tx) =>
    tx.run(
      `update webhook_deliveries
       set status = ?, attempts = ?, next_attempt_ms = ?, finished_ms = ?, last_error = ? where id = ?`,
      result.is === 'retry' ? 'pending' : result.is,
      attempts + 1,
      result.is === 'retry' ? result.nextAttemptMs : null,
      result.is === 'retry' ? null : result.atMs,
      result.error,
      id,
    ),
  )
