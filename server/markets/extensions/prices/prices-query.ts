// The past prices of an outcome, as a query of the history (markets/threads/thread-query.ts).
import type { Extensions } from '#api/contract/extensions.ts'
import type { Parsed } from '#api/contract/kit.ts'
import { Fault, invalid } from '#core/fault.ts'
import type { StateReader } from '#storage/state.ts'
import { currentRecords, findVersioned } from '../../read/current-records.ts'
import { type FeedCoverage, readWithCoverage } from '../../read/feed-coverage.ts'
import { readHistoryStartMs, readVersionsBack, type VersionedRecord } from '../../read/versions.ts'
import type { StoredRecord } from '../../records/documents.ts'
import type { ThreadQuery } from '../../threads/thread-query.ts'
import { type PricePeriod, readPriceSegments } from './price-segments.ts'
import { describeCoverage, samplePrices } from './sample-prices.ts'

export type PricesInput = Parsed<Extensions['markets.pricesHistory']>

const [minuteMs, hourMs, dayMs] = [60_000, 3_600_000, 86_400_000]
const intervalMs = { '1h': hourMs, '6h': 6 * hourMs, '1d': dayMs, '1w': 7 * dayMs, '1m': 30 * dayMs } as const
/** Minutes between two points by default: about a thousand points at most, for periods up to these lengths. */
const defaultMinutes = [
  [intervalMs['6h'], 1],
  [intervalMs['1d'], 5],
  [intervalMs['1w'], 30],
  [intervalMs['1m'], 180],
  [Number.POSITIVE_INFINITY, 720],
] as const
const pointsMax = 20_000
/** Versions that one request reads: two years with a change a minute. */
const versionsMax = 1_100_000

export interface PastPrices {
  /** Of the feeds. */
  readonly feeds: FeedCoverage
  /** The response, and which times it covers. Undefined if no such market is stored. */
  readonly prices: { readonly body: Uint8Array; readonly coverage: string } | undefined
}

export const pricesQuery: ThreadQuery<{ readonly input: PricesInput; readonly nowMs: number }, PastPrices> = {
  name: 'prices',
  async run(context, { input, nowMs }) {
    const { coverage: feeds, result } = await readWithCoverage(context, (reader) => readPrices(reader, input, nowMs))
    if (result instanceof Fault) throw result
    return { feeds, prices: result && { body: toBytes({ history: result.history }), coverage: result.coverage } }
  },
}

const toBytes = (body: object): Uint8Array => new TextEncoder().encode(JSON.stringify(body))

/** Undefined if no such market is stored. */
async function readPrices(reader: StateReader, input: PricesInput, nowMs: number) {
  const { marketId, token } = await findOutcome(reader, input.market)
  const record = await currentRecords(reader).record('market', marketId)
  const market = await findVersioned(reader, 'market', marketId)
  if (!record || !market) return undefined
  const period = await toPeriod(reader, input, market, record, nowMs)
  const lengthMs = period.untilMs - period.fromMs
  const [, minutes] = defaultMinutes.find(([max]) => lengthMs <= max + minuteMs) ?? [0, 720]
  const stepMs = (input.fidelity ?? minutes) * minuteMs
  if (lengthMs / stepMs > pointsMax)
    return invalid(
      ['query', 'fidelity'],
      `must be at least ${Math.ceil(lengthMs / pointsMax / minuteMs)} for this period`,
    )
  let rowCount = 0
  const spend = async (rows: number) => {
    rowCount += rows
    if (rowCount > versionsMax) throw new TooManyVersions()
  }
  try {
    const segments = await readPriceSegments(reader, market, period, priceFinder(token), spend)
    return { history: samplePrices(segments, period, stepMs), coverage: describeCoverage(segments, period) }
  } catch (error) {
    if (!(error instanceof TooManyVersions)) throw error
    return new Fault('markets.too_many_changes', {
      message: `This market has more than ${versionsMax} changes in this period. Request a shorter one with startTs and endTs.`,
    })
  }
}

class TooManyVersions extends Error {}

interface FoundOutcome {
  readonly marketId: string
  /** Undefined if the request names the market. */
  readonly token?: string
}

/** By a token, a condition or an id, in this order. */
async function findOutcome(reader: StateReader, name: string): Promise<FoundOutcome> {
  const sql = "select id from market_keys where kind = 'market' and name = ? and value = ? order by id limit 1"
  const byToken = await reader.get<{ id: string }>(sql, 'token', name)
  if (byToken) return { marketId: byToken.id, token: name }
  return { marketId: (await reader.get<{ id: string }>(sql, 'condition', name))?.id ?? name }
}

/**
 * Finds the price of the token in the fields of a market, or of the first outcome if the request names the market. The tokens
 * hardly ever change, so they are parsed only if they differ from those before.
 */
function priceFinder(token: string | undefined): (fields: StoredRecord['fields']) => number | undefined {
  let tokens: unknown
  let at = token === undefined ? 0 : -1
  return ({ clobTokenIds, outcomePrices }) => {
    if (token !== undefined && clobTokenIds !== tokens) {
      tokens = clobTokenIds
      at = parseTexts(clobTokenIds).indexOf(token)
    }
    const price = parseTexts(outcomePrices)[at]
    return price === undefined || price === '' || !Number.isFinite(Number(price)) ? undefined : Number(price)
  }
}

/** Sources write lists as JSON in a string. */
function parseTexts(text: unknown): readonly string[] {
  if (typeof text !== 'string') return []
  try {
    const values: unknown = JSON.parse(text)
    return Array.isArray(values) ? values.map(String) : []
  } catch {
    return []
  }
}

/** In whole seconds. The last second is included. */
async function toPeriod(
  reader: StateReader,
  { interval, startTs, endTs }: PricesInput,
  market: VersionedRecord,
  { fields }: StoredRecord,
  nowMs: number,
): Promise<PricePeriod> {
  const untilMs = Math.min(endTs === undefined ? nowMs : endTs * 1000, nowMs) + 1000
  if (interval !== undefined && interval !== 'max') return { fromMs: untilMs - 1000 - intervalMs[interval], untilMs }
  if (startTs !== undefined) return { fromMs: Math.min(startTs * 1000, untilMs), untilMs }
  const { firstMs, lastMs } = await readLife(reader, market)
  // The life of a closed market ends with its last change, so that its chart does not end in a long straight line.
  const isOver = fields.closed === true && endTs === undefined && lastMs !== undefined
  const endMs = isOver ? Math.min(untilMs, roundUp(lastMs) + 1000) : untilMs
  return { fromMs: Math.min(roundUp(firstMs ?? nowMs), endMs), untilMs: endMs }
}

/** Times of the first and the last version of a market. The first is the start of the history if older ones are deleted. */
async function readLife(reader: StateReader, market: VersionedRecord) {
  const sql = `select at_ms, change_type from market_versions where kind = 'market' and id = ? order by seq limit 1`
  const first = await reader.get<{ at_ms: number; change_type: string }>(sql, market.id)
  const [last] = await readVersionsBack(reader, market, Number.MAX_SAFE_INTEGER, 1)
  const isComplete = first?.change_type === 'created'
  return { firstMs: isComplete ? first.at_ms : await readHistoryStartMs(reader), lastMs: last?.atMs }
}

const roundUp = (ms: number): number => Math.ceil(ms / 1000) * 1000
