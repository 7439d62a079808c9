// Stores quotes together with their responses.
//
// 1. A quote, its nonce, its signed receipt and its idempotency key are stored in one transaction. An acknowledged quote is
//    durable, and concurrent requests with the same idempotency key create one quote.
// 2. A constraint makes the nonce unique over all quotes. The insert statement also checks that the key that signed the
//    receipt is not retired.
// 3. The first response and every replay are the same stored bytes (behaviour/fx.md#stored-quotes).
import { Fault } from '#core/fault.ts'
import { putRow } from '#storage/put-row.ts'
import type { State, StateReader, StateWriter } from '#storage/state.ts'

const replayMs = 86_400_000
/** Each write adds at most one key, so deleting more than one limits the table to the keys of a day. */
const prunedPerWrite = 100
const attemptsMax = 5
/** See decisions/share-one-commit-between-concurrent-quotes.md. */
const groupCommit = { together: true } as const

export interface Replay {
  readonly keyId: string
  readonly idempotencyKey: string
  readonly bodyHash: string
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
}

export interface StoredReply {
  readonly reply: Uint8Array
  readonly asOfMs: number
}

/** The stored response for this idempotency key. Throws a fault if the request body was different. */
export async function findReplay(reader: StateReader, replay: Replay, nowMs: number): Promise<StoredReply | undefined> {
  const row = await reader.get<StoredReply & { bodyHash: string }>(
    `select i.body_hash as "bodyHash", q.reply as "reply", q.as_of_ms as "asOfMs"
     from fx_idempotency i join fx_quotes q on q.id = i.quote_id
     where i.key_id = ? and i.idempotency_key = ? and i.created_ms > ?`,
    replay.keyId,
    replay.idempotencyKey,
    nowMs - replayMs,
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
 * `attempt` above zero, if the id or nonce is taken or the signing key was retired meanwhile.
 */
export async function storeQuote(
  state: State,
  build: (attempt: number) => Promise<NewQuote>,
  replay: Replay | undefined,
  nowMs: number,
): Promise<StoredReply> {
  for (let attempt = 0; attempt < attemptsMax; attempt++) {
    const quote = await build(attempt)
    const stored = await state.write(async (tx) => {
      const earlier = replay && (await findReplay(tx, replay, nowMs))
      if (earlier) return earlier
      if (!(await insertQuote(tx, quote))) return undefined
      if (replay) await storeReplay(tx, replay, quote)
      return quote
    }, groupCommit)
    if (stored) return stored
  }
  throw new Error(`could not store a quote in ${attemptsMax} attempts: id or nonce taken, or signing key retired`)
}

async function insertQuote(tx: StateWriter, quote: NewQuote): Promise<boolean> {
  const inserted = await tx.run(
    `insert into fx_quotes
       (id, key_id, created_ms, as_of_ms, nonce, priced_from, receipt_key, receipt_signature, reply)
     select ?, ?, ?, ?, ?, ?, ?, ?, ?
       where exists (select 1 from fx_receipt_keys where id = ? and retired_ms is null)
     on conflict do nothing`,
    quote.id,
    quote.keyId,
    quote.createdMs,
    quote.asOfMs,
    quote.nonce,
    quote.pricedFrom,
    quote.receiptKey,
    quote.receiptSignature,
    quote.reply,
    quote.receiptKey,
  )
  return inserted === 1
}

async function storeReplay(tx: StateWriter, replay: Replay, quote: NewQuote): Promise<void> {
  const key = { key_id: replay.keyId, idempotency_key: replay.idempotencyKey }
  const row = { ...key, body_hash: replay.bodyHash, quote_id: quote.id, created_ms: quote.createdMs }
  await putRow(tx, 'fx_idempotency', Object.keys(key), row)
  await dropReplays(tx, quote.createdMs, prunedPerWrite)
}

/** Deletes idempotency keys older than a day, oldest first. Returns how many were deleted. */
export const dropReplays = (tx: StateWriter, nowMs: number, rowsMax: number): Promise<number> =>
  tx.run(
    `delete from fx_idempotency where (key_id, idempotency_key) in
       (select key_id, idempotency_key from fx_idempotency where created_ms <= ? order by created_ms limit ?)`,
    nowMs - replayMs,
    rowsMax,
  )
