// The stored trades (behaviour/fx.md#trades). A trade is the acceptance of a quote, so it has the id of its quote.
//
// 1. A quote is accepted once, before its `expiresAt` by the clock of the database. The trade, its response and the
//    deliveries to webhooks are stored in one transaction, before the response is sent.
// 2. The same address and signature again return the stored response. Others are refused.
// 3. A trade that is settled does not change. The other states can be followed by a report.
// 4. Signatures are returned only for settlement (`readPermit`).
import { parseJson, stringifyJson } from '#api/contract/json.ts'
import type { Quote, TypedData } from '#api/contract/wire/fx.ts'
import type { Receipt } from '#api/contract/wire/fx-extensions.ts'
import type { Trade, TradeStatus } from '#api/contract/wire/fx-trades.ts'
import { Fault } from '#core/fault.ts'
import type { Clock } from '#runtime/clock.ts'
import type { Random } from '#runtime/random.ts'
import type { FxSettings, TradeEvent } from '#runtime/settings/fx.ts'
import type { State, StateReader, StateWriter, Value } from '#storage/state.ts'
import { type DeliveryTable, type NewDelivery, storeDeliveries } from '#webhooks/deliveries.ts'

export const tradeDeliveries = { name: 'fx_deliveries', subject: ['trade'] } as const satisfies DeliveryTable

/** A quote that can be accepted. */
export type SignableQuote = Quote & { readonly typedData: TypedData; readonly tenor: Trade['tenor'] }

export interface NewTrade {
  readonly quote: SignableQuote
  readonly keyId: string
  readonly address: string
  readonly signature: Uint8Array
  readonly signedBy: SignedBy
}

/** What Permit2 relies on: ecrecover, or the code of the address (EIP-1271). */
export type SignedBy = 'key' | 'contract'

export interface StoredTrade {
  readonly trade: Trade
  readonly keyId: string
  readonly reportedBy: string | null
}

interface TradeRow {
  readonly id: string
  readonly keyId: string
  readonly address: string
  readonly state: TradeStatus
  readonly acceptedMs: number
  readonly deadlineMs: number
  readonly updatedMs: number
  readonly txHash: string | null
  readonly reportedBy: string | null
  readonly quote: Uint8Array
  readonly pricedFrom: string
}

const selectTrades = `select t.id, t.key_id as "keyId", t.address, t.state, t.accepted_ms as "acceptedMs",
  t.deadline_ms as "deadlineMs", t.updated_ms as "updatedMs", t.tx_hash as "txHash", t.reported_by as "reportedBy",
  q.reply as "quote", q.priced_from as "pricedFrom" from fx_trades t join fx_quotes q on q.id = t.id`

const parseQuote = (reply: Uint8Array): Quote => parseJson(new TextDecoder().decode(reply)) as Quote

/** The quote with its tenor; undefined if it is not stored, or belongs to another key. */
export async function readSignableQuote(
  reader: StateReader,
  id: string,
  keyId: string,
): Promise<(Quote & Pick<SignableQuote, 'tenor'>) | undefined> {
  const row = await reader.get<{ reply: Uint8Array; pricedFrom: string }>(
    'select reply, priced_from as "pricedFrom" from fx_quotes where id = ? and key_id = ?',
    ...[id.toLowerCase(), keyId],
  )
  return row && { ...parseQuote(row.reply), tenor: tenorOf(row.pricedFrom) }
}

const tenorOf = (pricedFrom: string): Trade['tenor'] => (JSON.parse(pricedFrom) as Receipt).quote.tenor

/** Rule 2. Undefined: the quote was not accepted. */
export async function findAcceptance(
  reader: StateReader,
  { quoteId, keyId, address, signature }: Omit<NewTrade, 'quote' | 'signedBy'> & { readonly quoteId: string },
): Promise<Uint8Array | undefined> {
  const row = await reader.get<{ keyId: string; address: string; signature: Uint8Array; reply: Uint8Array }>(
    'select key_id as "keyId", address, signature, reply from fx_trades where id = ?',
    quoteId.toLowerCase(),
  )
  if (!row || row.keyId !== keyId) return undefined
  const isSame = row.address.toLowerCase() === address.toLowerCase() && Buffer.compare(row.signature, signature) === 0
  if (!isSame) throw new Fault('fx.trade_conflict')
  return row.reply
}

interface StoreContext {
  readonly state: State
  readonly clock: Clock
  readonly random: Random
  readonly settings: { readonly fx: FxSettings }
}

/** Rules 1 and 2. Returns the response. */
export async function acceptQuote(context: StoreContext, accepted: NewTrade): Promise<Uint8Array> {
  const { quote, keyId, address, signature, signedBy } = accepted
  const deadlineMs = Number(quote.typedData.message.deadline) * 1000
  const newIds = context.settings.fx.webhooks.map(() => context.random.uuid())
  return context.state.write(async (tx) => {
    const nowMs = await databaseNowMs(tx, context)
    const trade = toTrade(quote, quote.tenor, {
      ...{ address, state: 'accepted', acceptedMs: nowMs, updatedMs: nowMs, deadlineMs, txHash: null },
    })
    const reply = new TextEncoder().encode(stringifyJson(trade))
    const isExpired = nowMs >= Date.parse(quote.expiresAt)
    const stored = isExpired
      ? 0
      : await tx.run(
          `insert into fx_trades (id, key_id, address, signature, signed_by, state, accepted_ms, deadline_ms, updated_ms, reply)
           values (?, ?, ?, ?, ?, 'accepted', ?, ?, ?, ?) on conflict do nothing`,
          ...[quote.id, keyId, address, signature, signedBy, nowMs, deadlineMs, nowMs, reply],
        )
    if (stored === 0) {
      // Another request, or this one with a commit whose reply was lost.
      const known = await findAcceptance(tx, { quoteId: quote.id, keyId, address, signature })
      if (known) return known
      throw new Fault('fx.quote_expired')
    }
    await storeDeliveries(tx, tradeDeliveries, deliveriesOf(context, 'trade_accepted', trade, nowMs, newIds), nowMs)
    return reply
  })
}

/** On SQLite, the clock of this machine is that of the database. */
async function databaseNowMs(
  reader: StateReader,
  { state, clock }: Pick<StoreContext, 'state' | 'clock'>,
): Promise<number> {
  if (state.engine === 'sqlite') return clock.now()
  const sql = 'select (extract(epoch from clock_timestamp()) * 1000)::bigint as "nowMs"'
  return (await reader.get<{ nowMs: number }>(sql))?.nowMs ?? Number.POSITIVE_INFINITY
}

type TradeFields = Pick<TradeRow, 'address' | 'state' | 'acceptedMs' | 'updatedMs' | 'deadlineMs' | 'txHash'>

function toTrade(quote: Quote, tenor: Trade['tenor'], row: TradeFields): Trade {
  const { id, rate, from, to, fee, collateral, typedData } = quote
  const iso = (ms: number) => new Date(ms).toISOString()
  const completed = row.state === 'settled' || row.state === 'failed'
  return {
    ...{ id, quoteId: id, status: row.state, rate, from, to, fee },
    ...(collateral !== undefined && { collateral }),
    ...{ tenor, address: row.address, recipient: typedData?.message.witness.recipient ?? '' },
    ...{ createDate: iso(row.acceptedMs), updateDate: iso(row.updatedMs), maturity: iso(row.deadlineMs) },
    ...(row.txHash !== null && { settlementTransactionHash: row.txHash }),
    ...(completed && { completeDate: iso(row.updatedMs) }),
  }
}

/** Past its deadline, a trade has expired even if the next pass of `expireTrades` has not stored it yet. */
function toStored(row: TradeRow, nowMs: number): StoredTrade {
  const hasExpired = row.state === 'accepted' && row.deadlineMs <= nowMs
  const shown: TradeFields = hasExpired ? { ...row, state: 'expired', updatedMs: row.deadlineMs } : row
  return {
    trade: toTrade(parseQuote(row.quote), tenorOf(row.pricedFrom), shown),
    keyId: row.keyId,
    reportedBy: row.reportedBy,
  }
}

/** `nowMs`: from `ProvenTime.forDeletions`. With `keyId`, only if it belongs to this key. */
export async function readTrade(
  reader: StateReader,
  id: string,
  { nowMs, keyId }: { readonly nowMs: number; readonly keyId?: string | undefined },
): Promise<StoredTrade | undefined> {
  const row = await reader.get<TradeRow>(`${selectTrades} where t.id = ?`, id.toLowerCase())
  return row && (keyId === undefined || row.keyId === keyId) ? toStored(row, nowMs) : undefined
}

export interface TradeQuery {
  readonly nowMs: number
  readonly keyId?: string | undefined
  readonly status?: TradeStatus | undefined
  readonly before?: string | undefined
  readonly count: number
}

/** Newest first. */
export async function listTrades(reader: StateReader, query: TradeQuery): Promise<StoredTrade[]> {
  const { nowMs, keyId, status, before, count } = query
  const conditions: string[] = []
  const values: Value[] = []
  const add = (condition: string, ...given: Value[]) => {
    conditions.push(condition)
    values.push(...given)
  }
  if (keyId !== undefined) add('t.key_id = ?', keyId)
  if (status === 'accepted') add("t.state = 'accepted' and t.deadline_ms > ?", nowMs)
  else if (status === 'expired') add("(t.state = 'expired' or (t.state = 'accepted' and t.deadline_ms <= ?))", nowMs)
  else if (status !== undefined) add('t.state = ?', status)
  if (before !== undefined)
    add(
      '(t.accepted_ms, t.id) < (select accepted_ms, id from fx_trades where id = cast(? as text))',
      before.toLowerCase(),
    )
  const where = conditions.length > 0 ? `where ${conditions.join(' and ')}` : ''
  const sql = `${selectTrades} ${where} order by t.accepted_ms desc, t.id desc limit ?`
  return (await reader.all<TradeRow>(sql, ...values, count)).map((row) => toStored(row, nowMs))
}

export interface Permit {
  readonly id: string
  readonly owner: string
  readonly signature: string
  readonly typedData: TypedData
}

/** Rule 4. */
export async function readPermit(reader: StateReader, id: string): Promise<Permit | undefined> {
  const row = await reader.get<{ id: string; address: string; signature: Uint8Array; quote: Uint8Array }>(
    'select t.id, t.address, t.signature, q.reply as "quote" from fx_trades t join fx_quotes q on q.id = t.id where t.id = ?',
    id.toLowerCase(),
  )
  const typedData = row && parseQuote(row.quote).typedData
  return row && typedData && { id: row.id, owner: row.address, signature: `0x${row.signature.toHex()}`, typedData }
}

export interface Report {
  readonly status: 'settled' | 'failed'
  readonly txHash: string
  readonly by: string
}

/** Whether the trade has this report already. */
export const isReported = ({ trade }: StoredTrade, { status, txHash }: Report): boolean =>
  trade.status === status && trade.settlementTransactionHash === txHash.toLowerCase()

/** Rule 3. Throws a fault if the trade was settled by another transaction. Undefined: there is no such trade. */
export async function storeReport(
  context: StoreContext,
  id: string,
  { status, txHash, by }: Report,
): Promise<StoredTrade | undefined> {
  const nowMs = context.clock.now()
  const hash = txHash.toLowerCase()
  const newIds = context.settings.fx.webhooks.map(() => context.random.uuid())
  return context.state.write(async (tx) => {
    const changed = await tx.run(
      `update fx_trades set state = ?, tx_hash = ?, reported_by = ?, updated_ms = ?
       where id = ? and state <> 'settled' and not (state = ? and tx_hash = ?)`,
      ...[status, hash, by, nowMs, id.toLowerCase(), status, hash],
    )
    const stored = await readTrade(tx, id, { nowMs })
    if (!stored) return undefined
    if (changed === 0) {
      if (isReported(stored, { status, txHash, by })) return stored
      const message = `This trade is settled by ${stored.trade.settlementTransactionHash}.`
      throw new Fault('fx.trade_conflict', { message })
    }
    const deliveries = deliveriesOf(context, `trade_${status}`, stored.trade, nowMs, newIds)
    await storeDeliveries(tx, tradeDeliveries, deliveries, nowMs)
    return stored
  })
}

const expiredAtOnce = 100

/** Stores which trades have expired, with their deliveries. Returns how many. */
export function expireTrades(context: StoreContext, nowMs: number): Promise<number> {
  const newIds = Array.from({ length: expiredAtOnce * context.settings.fx.webhooks.length }, () =>
    context.random.uuid(),
  )
  return context.state.write(async (tx) => {
    const due = await tx.all<TradeRow>(
      `${selectTrades} where t.state = 'accepted' and t.deadline_ms <= ? order by t.deadline_ms limit ?`,
      ...[nowMs, expiredAtOnce],
    )
    const ids = [...newIds]
    for (const row of due) {
      const { trade } = toStored(row, nowMs)
      if (!(await setExpired(tx, row))) continue
      const deliveries = deliveriesOf(context, 'trade_expired', trade, nowMs, ids)
      ids.splice(0, deliveries.length)
      await storeDeliveries(tx, tradeDeliveries, deliveries, nowMs)
    }
    return due.length
  })
}

/** False: a report came first. */
const setExpired = async (tx: StateWriter, { id }: Pick<TradeRow, 'id'>): Promise<boolean> =>
  (await tx.run(
    "update fx_trades set state = 'expired', updated_ms = deadline_ms where id = ? and state = 'accepted'",
    id,
  )) === 1

type TradeDelivery = NewDelivery & { readonly trade: string }

/** Without the signature: a webhook may be logged by its receiver. */
function deliveriesOf(
  { settings }: Pick<StoreContext, 'settings'>,
  event: TradeEvent,
  trade: Trade,
  nowMs: number,
  ids: readonly string[],
): TradeDelivery[] {
  const webhooks = settings.fx.webhooks.filter(({ events }) => events.includes(event))
  return webhooks.map((webhook, at) => {
    const id = ids[at] as string
    const text = `Trade ${trade.id}: ${event.slice('trade_'.length)}, ${trade.from.amount} ${trade.from.currency} for ${trade.to.amount} ${trade.to.currency}`
    const body = stringifyJson({ id, event, text, createdAt: new Date(nowMs).toISOString(), trade })
    return { id, webhook: webhook.id, event, trade: trade.id, body }
  })
}
