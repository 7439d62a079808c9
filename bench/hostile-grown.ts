// Grows the store that bench/hostile.ts measures: markets, one with many versions, labels, fundings, rates, quotes, and
// the duties of a network. Returns what the requests need to find.
import type { Client } from '#api/client/client.ts'
import { putProven } from '#explorer/funding/fundings.ts'
import { HistoryWriter } from '#explorer/labels/history.ts'
import { putLabels } from '#explorer/labels/labels.ts'
import { putTags } from '#explorer/labels/tags.ts'
import { storeRates } from '#fx/rates/rate-store.ts'
import { decompose, Renames } from '#markets/records/decompose.ts'
import { putMarkets } from '#markets/write/put-markets.ts'
import type { AppContext } from '#server/context.ts'
import { partsIn, plainTime } from '#validators/duties/layout.ts'
import { missedFields } from '#validators/duties/missed.ts'
import { putValidators } from '#validators/registry/registry.ts'
import { manyMarkets } from './many-markets.ts'
import { batchesOf } from './measure.ts'
import { entryOf, sumsOf } from './ratings-rows.ts'

export const sizes = {
  /** Of one market: two months with a change each minute. */
  versions: Number(process.env.BENCH_VERSIONS ?? 95_000),
  markets: Number(process.env.BENCH_MARKETS ?? 2000),
  labels: 20_000,
  fundings: 1000,
  validators: 10_000,
  days: 60,
  quotes: 200,
  rates: 2000,
}

export const grownSlug = 'grown-0'
export const grownId = '90'
export const grownToken = '901'
/** Of the demo it has nothing. */
export const grownNetwork = 'holesky'
const minuteMs = 60_000
const versionsPerWrite = 500

export const addressOf = (at: number): string => `0x${(at + 1).toString(16).padStart(40, 'a')}`

/** Through a version for each minute, which ends at the time of the server. */
export async function growMarkets({ ingest, clock }: AppContext): Promise<void> {
  const renames = new Renames({})
  const startMs = clock.now() - (sizes.versions + 1) * minuteMs
  const wide = manyMarkets({ seed: 'wide', count: 300, perEvent: 300 })
  const many = manyMarkets({ seed: 'hostile', count: sizes.markets, perEvent: 4 })
  const offset = 5_000_000
  const ofWide = wide.map((market, at) => ({ ...market, id: String(offset + at), slug: `wide-${at}` }))
  for (const markets of [many, ofWide])
    for (const batch of batchesOf(markets, 100)) {
      const records = batch.flatMap((market) => decompose(market, 'market', renames))
      await ingest.write((tx) => putMarkets(tx, records, startMs), { lock: 'markets' })
    }
  const fields = {
    slug: grownSlug,
    question: 'Will harbour bridge open?',
    description: 'It resolves to yes if the bridge opens. '.repeat(40),
    clobTokenIds: JSON.stringify([grownToken, '902']),
    outcomes: '["Yes","No"]',
  }
  const recordAt = (at: number) => {
    const price = ((at * 7) % 100) / 100
    const outcomePrices = JSON.stringify([String(price), String(1 - price)])
    const values = { outcomePrices, bestBid: price, volume: String(at) }
    return { kind: 'market' as const, id: grownId, fields: { ...fields, ...values } }
  }
  for (let from = 0; from < sizes.versions; from += versionsPerWrite) {
    const until = Math.min(from + versionsPerWrite, sizes.versions)
    await ingest.write(
      async (tx) => {
        for (let at = from; at < until; at++) await putMarkets(tx, [recordAt(at)], startMs + at * minuteMs)
      },
      { lock: 'markets' },
    )
  }
}

export async function growLabels({ ingest, clock }: AppContext): Promise<void> {
  const author = { by: 'bench', via: 'bench', atMs: clock.now() }
  const labels = Array.from({ length: sizes.labels }, (_, at) => ({
    ...{ chain: '1', slug: `entity-${at}`, name: `A entity number ${at}`, notes: 'Wallets rotate every quarter.' },
    description: 'Centralised exchange, deposit and hot wallets.',
  }))
  await ingest.write((tx) => putLabels(new HistoryWriter(tx, author), labels))
  const tags = Array.from({ length: sizes.fundings * 10 }, (_, at) => ({
    ...{ chain: '1', address: addressOf(Math.floor(at / 10)), source: `source-${at % 10}`, name: `a wallet ${at}` },
    entity: `entity-${at}`,
  }))
  await ingest.write((tx) => putTags(new HistoryWriter(tx, author), tags))
}

/** Each address is funded by the next one, and the last ones are not funded. */
export async function growFundings({ ingest, clock }: AppContext): Promise<void> {
  const timeUnix = Math.floor(clock.now() / 1000) - 10_000
  const ground = { method: 'state', lists: 'not needed', nodes: [] } as const
  await ingest.write(
    async (tx) => {
      for (let at = 0; at < sizes.fundings; at++)
        await putProven(
          tx,
          {
            ...{ chain: '1', address: addressOf(at), funder: addressOf(at + 1), block: 10_000_000 - at, txIndex: 1 },
            ...{ position: 0, timeUnix, tx: `0x${at.toString(16).padStart(64, '0')}`, valueWei: 10n ** 18n },
          },
          ground,
        )
    },
    { lock: 'chain:1' },
  )
}

/** Half days of all validators, as in bench/ratings.ts. */
export async function growDuties({ ingest, duties, settings }: AppContext): Promise<void> {
  const time = plainTime(settings.validators.networks[grownNetwork])
  const missed = Object.fromEntries(missedFields.map((field) => [field, new Int32Array()])) as never
  const head = { hoursKeptDays: 1, missedKeptDays: 0 }
  for (const { number, epochs } of partsIn(time, { from: 0, until: sizes.days * time.epochsPerDay })) {
    const sums = sumsOf(sizes.validators, number, epochs.until - epochs.from)
    const segments = [{ epochs, ...sums, missed, audits: [], unexplained: [], watched: undefined }]
    await duties.update('commitEpochs', { network: grownNetwork, time, segments, head })
    await duties.update(
      'mergeSpans',
      { network: grownNetwork, time, until: epochs.until },
      { signal: new AbortController().signal },
    )
  }
  await putValidators(
    ingest,
    grownNetwork,
    Array.from({ length: sizes.validators }, (_, index) => entryOf(index)),
  )
}

/** Returns the newest quote. */
export async function growQuotes({ state, clock }: AppContext, client: Client) {
  const startMs = clock.now() - 6 * 86_400_000
  const spreadMs = Math.floor((6 * 86_400_000) / sizes.rates)
  for (let at = 0; at < sizes.rates; at++) {
    const atMs = startMs + at * spreadMs
    const rate = { source: 'desk', base: 'EUR', quote: 'USD', rate: `1.${1000 + (at % 100)}`, atMs }
    await storeRates(state, 'desk', [rate], atMs)
  }
  await client.fx.setRate({ pair: 'EUR/USD', rate: '1.1' })
  const create = () =>
    client.fx.createQuote({
      ...{ from: { currency: 'USDC', amount: '250' }, to: { currency: 'EURC' }, tenor: 'hourly' },
      recipientAddress: `0x${'11'.repeat(20)}`,
    })
  for (let count = 1; count < sizes.quotes; count++) await create()
  return create()
}
