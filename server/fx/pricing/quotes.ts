// Quotes in the store, with their replies as they were sent.
//
// 1. A quote, its nonce, its signed receipt and its idempotency key are one transaction: an acknowledged quote is durable,
//    and two requests with the same key, however close together, make one quote.
// 2. The nonce is unique over all quotes by constraint; chance only makes a second draw rare. The key that signed the receipt
//    must not be retired when the quote is stored; the statement checks that too.
// 3. The first reply and every replay are the same stored bytes (behaviour/fx.md#stored-quotes).
import { Fault } from '#core/fault.ts'
import type { State, StateReader, StateWriter } from '#storage/state.ts'

const replayMs = 86_400_000
/** Each write adds at most one key, so removing more than one keeps the table at a day's worth. */
const prunedPerWrite = 100
const attemptsMax = 5
/** Quotes that are asked for at the same time share the wait for the disk (decisions/share-one-commit-between-concurrent-quotes.md). */
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
  /** Time of the oldest rate it rests on. */
  readonly asOfMs: number
  /** Null where there is nothing to sign. */
  readonly nonce: number | null
  /** The receipt as canonical JSON: rates, mid and terms, for whoever must explain the price later. */
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

/** The reply that this key was answered with; a fault when it was for another body. */
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

/** The quote as it was answered, if this key asked for it; without a key, whoever did. */
export const readQuote = (reader: StateReader, id: string, keyId?: string): Promise<StoredReply | undefined> =>
  reader.get<StoredReply>(
    `select as_of_ms as "asOfMs", reply from fx_quotes where id = ? and (cast(? as text) is null or key_id = ?)`,
    ...[id.toLowerCase(), keyId ?? null, keyId ?? null],
  )

/**
 * Stores what `draw` makes, or returns what the idempotency key already has. Draws again if the id or nonce is taken, or the
 * signing key was retired meanwhile: `attempt` is then above zero.
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
  throw new Error(
    `no quote could be stored in ${attemptsMax} attempts: id or nonce taken, or signing key retired, each time`,
  )
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
  await tx.run(
    `insert into fx_idempotency (key_id, idempotency_key, body_hash, quote_id, created_ms) values (?, ?, ?, ?, ?)
     on conflict (key_id, idempotency_key) do update
       set body_hash = excluded.body_hash, quote_id = excluded.quote_id, created_ms = excluded.created_ms`,
    replay.keyId,
    replay.idempotencyKey,
    replay.bodyHash,
    quote.id,
    quote.createdMs,
  )
  await dropReplays(tx, quote.createdMs, prunedPerWrite)
}

/** Lets go of keys whose day is over, oldest first; resolves to how many there were. */
export const dropReplays = (tx: StateWriter, nowMs: number, rowsMax: number): Promise<number> =>
  tx.run(
    `delete from fx_idempotency where (key_id, idempotency_key) in
       (select key_id, idempotency_key from fx_idempotency where created_ms <= ? order by created_ms limit ?)`,
    nowMs - replayMs,
    rowsMax,
  )
