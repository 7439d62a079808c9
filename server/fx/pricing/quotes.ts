// Stores quotes together with their responses.
//
// 1. A quote, its nonce, its signed receipt and its idempotency key are stored in one transaction. An acknowledged quote is
//    durable, and concurrent requests with the same idempotency key create one quote.
// 2. A constraint makes the nonce unique over all quotes. The insert statement also checks that the key that signed the
//    receipt is not retired, and that no override was changed since the quote was priced (overrides.ts, rule 1). It locks
//    both until the commit, so that neither changes before.
// 3. The first response and every replay are the same stored bytes (behaviour/fx.md#stored-quotes).
import { Fault } from '#core/fault.ts'
import type { GroupWrite, State, StateReader, StateWriter } from '#storage/state.ts'
import type { HourLimit } from './hour-limit.ts'

const replayMs = 86_400_000
const attemptsMax = 5

export interface Replay {
  readonly keyId: string
  readonly idempotencyKey: string
  readonly bodyHash: string
  /** From `ProvenTime.forDeletions`: a key that was stored a day before has expired. */
  readonly nowMs: number
}

export interface NewQuote {
  readonly id: string
  readonly keyId: string
  readonly createdMs: number
  /** Time of the oldest rate it was computed from. */
  readonly asOfMs: number
  /** Null if there is nothing to sign. */
  readonly nonce: number | null
  /** The receipt as canonical JSON: rates, mid and terms. */
  readonly pricedFrom: string
  /** Id of the key that signed the receipt. */
  readonly receiptKey: string
  readonly receiptSignature: Uint8Array
  readonly reply: Uint8Array
  /** Revision of the overrides it was priced with. */
  readonly overrides: number
  readonly hourLimit?: HourLimit | undefined
}

export interface StoredReply {
  readonly reply: Uint8Array
  readonly asOfMs: number
}

/** The stored response for this idempotency key. Throws a fault if the request body was different. */
export async function findReplay(reader: StateReader, replay: Replay): Promise<StoredReply | undefined> {
  const row = await reader.get<StoredReply & { bodyHash: string }>(
    `select i.body_hash as "bodyHash", q.reply as "reply", q.as_of_ms as "asOfMs"
     from fx_idempotency i join fx_quotes q on q.id = i.quote_id
     where i.key_id = ? and i.idempotency_key = ? and i.created_ms > ?`,
    replay.keyId,
    replay.idempotencyKey,
    replay.nowMs - replayMs,
  )
  if (row && row.bodyHash !== replay.bodyHash) throw new Fault('fx.idempotency')
  return row
}

/** With `keyId`, only if the quote belongs to this key. */
export const readQuote = (reader: StateReader, id: string, keyId?: string): Promise<StoredReply | undefined> =>
  reader.get<StoredReply>(
    `select as_of_ms as "asOfMs", reply from fx_quotes where id = ? and (cast(? as text) is null or key_id = ?)`,
    ...[id.toLowerCase(), keyId ?? null, keyId ?? null],
  )

/**
 * The quotes of a key, newest first, or those before the quote with the id `before`. An id that is not stored has no
 * earlier quotes: quotes are deleted by age.
 */
export const listQuotes = (
  reader: StateReader,
  { keyId, before, count }: { readonly keyId: string; readonly before?: string | undefined; readonly count: number },
): Promise<{ readonly id: string; readonly reply: Uint8Array }[]> => {
  const earlier =
    'and (created_ms, id) < (select created_ms, id from fx_quotes where id = cast(? as text) and key_id = ?)'
  return reader.all(
    `select id, reply from fx_quotes where key_id = ? ${before === undefined ? '' : earlier}
     order by created_ms desc, id desc limit ?`,
    ...[keyId, ...(before === undefined ? [] : [before.toLowerCase(), keyId]), count],
  )
}

/**
 * Stores the quote that `build` returns, or returns the stored response of the idempotency key. Calls `build` again, with
 * `attempt` above zero, if the id or nonce is taken, or the signing key was retired or an override changed meanwhile.
 */
export async function storeQuote(
  state: State,
  build: (attempt: number) => Promise<NewQuote>,
  replay: Replay | undefined,
): Promise<StoredReply> {
  for (let attempt = 0; attempt < attemptsMax; attempt++) {
    const outcome = await state.writeTogether(writeQuotes[state.engine], { quote: await build(attempt), replay })
    if (outcome instanceof Fault) throw outcome
    if (outcome) return outcome
  }
  throw new Error(
    `could not store a quote in ${attemptsMax} attempts: id or nonce taken, signing key retired or overrides changed`,
  )
}

interface QuoteToStore {
  readonly quote: NewQuote
  readonly replay: Replay | undefined
}

/** Undefined: the quote cannot be stored and must be built again. */
type QuoteOutcome = StoredReply | Fault | undefined

/** Two statements for any number of quotes; more only if some of them cannot be stored. */
const createQuoteWriter =
  (insertSigned: string): GroupWrite<QuoteToStore, QuoteOutcome> =>
  async (tx, items) => {
    /** The first item with each idempotency key. The others get its outcome. */
    const firstOf = new Map<string, QuoteToStore>()
    for (const item of items) if (item.replay) firstOf.getOrInsert(nameOf(item.replay), item)
    // In the order of their names, so that two servers never wait for each other.
    const named = [...firstOf].sort(([one], [other]) => (one < other ? -1 : 1))
    const earlier = await reserveKeys(
      tx,
      named.map(([, item]) => item),
    )
    const isFirst = (item: QuoteToStore) => !item.replay || firstOf.get(nameOf(item.replay)) === item
    const stored = await insertQuotes(
      tx,
      items.filter((item) => isFirst(item) && !earlier.has(item)),
      insertSigned,
    )
    return items.map((item): QuoteOutcome => {
      const first = (item.replay && firstOf.get(nameOf(item.replay))) ?? item
      const known = earlier.get(first)
      const bodyHash = known?.bodyHash ?? first.replay?.bodyHash
      if (item.replay && item.replay.bodyHash !== bodyHash) return new Fault('fx.idempotency')
      return known ?? (stored.has(first) ? first.quote : undefined)
    })
  }

const nameOf = ({ keyId, idempotencyKey }: Replay): string => JSON.stringify([keyId, idempotencyKey])

type EarlierReply = StoredReply & { readonly bodyHash: string }

const keyColumns = ['key_id', 'idempotency_key']
const replayColumns = [...keyColumns, 'body_hash', 'quote_id', 'created_ms']
const unlessTaken = `on conflict (${keyColumns}) do nothing`
/** Of a list of keys. They are free again. */
const deleteExpired = `delete from fx_idempotency where created_ms <= ? and (${keyColumns}) in
  (select k.value ->> 0, k.value ->> 1 from json_each(?) as k)`

/** Stores the idempotency keys of these quotes. Returns the stored responses of keys that are taken. */
async function reserveKeys(
  tx: StateWriter,
  items: readonly QuoteToStore[],
): Promise<ReadonlyMap<QuoteToStore, EarlierReply>> {
  const rows = items.flatMap(({ quote, replay }) =>
    replay ? [[replay.keyId, replay.idempotencyKey, replay.bodyHash, quote.id, quote.createdMs]] : [],
  )
  const insert = () => tx.insertMany('fx_idempotency', replayColumns, rows, unlessTaken)
  if ((await insert()) === rows.length) return new Map()
  const expiredMs = Math.min(...items.map(({ replay }) => replay?.nowMs ?? Number.POSITIVE_INFINITY)) - replayMs
  if ((await tx.run(deleteExpired, expiredMs, JSON.stringify(rows))) > 0) await insert()
  const taken = await tx.all<EarlierReply & { name: string }>(
    `select k.value ->> 2 as "name", i.body_hash as "bodyHash", q.reply as "reply", q.as_of_ms as "asOfMs"
     from json_each(?) as k
     join fx_idempotency i on i.key_id = k.value ->> 0 and i.idempotency_key = k.value ->> 1
     join fx_quotes q on q.id = i.quote_id where i.quote_id <> k.value ->> 2`,
    JSON.stringify(rows.map(([keyId, idempotencyKey, , quoteId]) => [keyId, idempotencyKey, quoteId])),
  )
  const byQuote = new Map(taken.map(({ name, ...reply }) => [name, reply]))
  return new Map(
    items.flatMap((item) => {
      const reply = byQuote.get(item.quote.id)
      return reply ? [[item, reply]] : []
    }),
  )
}

const quoteColumns = [
  ...['id', 'key_id', 'created_ms', 'as_of_ms', 'nonce', 'priced_from', 'receipt_key', 'receipt_signature', 'reply'],
  ...['overrides', 'hour_rule', 'hour_size'],
]
/** Rule 2. SQLite has one writer, so nothing changes before the commit. */
const signingKeys = 'select id from fx_receipt_keys where retired_ms is null'
const revision = 'select revision from fx_override_revision'
const writeQuotes = {
  sqlite: createQuoteWriter(
    `where new.receipt_key in (${signingKeys}) and new.overrides in (${revision}) on conflict do nothing`,
  ),
  postgres: createQuoteWriter(
    `where new.receipt_key = any(array(${signingKeys} for share)) and new.overrides = any(array(${revision} for share))
     on conflict do nothing`,
  ),
} as const

/** Returns the items that were stored, and gives up the idempotency keys of the others. */
async function insertQuotes(
  tx: StateWriter,
  items: readonly QuoteToStore[],
  insertSigned: string,
): Promise<ReadonlySet<QuoteToStore>> {
  const rows = items.map(({ quote }) => [
    ...[quote.id, quote.keyId, quote.createdMs, quote.asOfMs, quote.nonce, quote.pricedFrom],
    ...[quote.receiptKey, quote.receiptSignature, quote.reply],
    ...[quote.overrides, quote.hourLimit?.rule ?? null, quote.hourLimit?.size ?? null],
  ])
  if ((await tx.insertMany('fx_quotes', quoteColumns, rows, insertSigned)) === rows.length) return new Set(items)
  const found = await tx.all<{ id: string; reply: Uint8Array }>(
    'select id, reply from fx_quotes where id in (select atom from json_each(?))',
    JSON.stringify(items.map(({ quote }) => quote.id)),
  )
  const replies = new Map(found.map(({ id, reply }) => [id, reply]))
  // Another quote may have had the id before.
  const isStored = ({ quote }: QuoteToStore) => Buffer.compare(replies.get(quote.id) ?? none, quote.reply) === 0
  const failed = items.filter((item) => !isStored(item))
  const keys = failed.flatMap(({ replay }) => (replay ? [[replay.keyId, replay.idempotencyKey]] : []))
  await tx.deleteMany('fx_idempotency', keyColumns, keys)
  return new Set(items.filter(isStored))
}

const none = new Uint8Array(0)

/** Deletes idempotency keys older than a day, oldest first. Returns how many were deleted. */
export const deleteExpiredIdempotencyKeys = (tx: StateWriter, nowMs: number, rowsMax: number): Promise<number> =>
  tx.run(
    // The first condition is checked again if another transaction has just used the key for a new quote.
    `delete from fx_idempotency where created_ms <= ? and (key_id, idempotency_key) in
       (select key_id, idempotency_key from fx_idempotency where created_ms <= ? order by created_ms limit ?)`,
    ...[nowMs - replayMs, nowMs - replayMs, rowsMax],
  )
