// One of the processes that bench/writes.ts measures, on a data folder or a PostgreSQL.
//   node writes-one.ts quotes <state> <parallel>     prints `{}`; then for each line with a number of seconds, its figures
//   node writes-one.ts feed <state> <URL> <records>  prints `{}`; reads the feed after the first line
import { createInterface } from 'node:readline'
import { createFxCaches } from '#fx/context.ts'
import { type NewQuote, storeQuote } from '#fx/pricing/quotes.ts'
import { getReceiptSigner } from '#fx/receipts/receipt-key.ts'
import { readFeed } from '#markets/feeds/read-feed.ts'
import { systemClock } from '#runtime/clock.ts'
import { silentLog } from '#runtime/log.ts'
import { systemRandom } from '#runtime/random.ts'
import type { MarketFeed } from '#runtime/settings/markets.ts'
import { createContext } from '#server/context.ts'
import { openStateAndIngest } from '#storage/open.ts'
import type { State } from '#storage/state.ts'
import { timedState } from '#storage/timed.ts'
import { settingsWith } from '#test/context.ts'
import { dutiesOnThisThread } from '#validators/duties/store.ts'

const [, , task, location = '', ...more] = process.argv
const opened = await openStateAndIngest(location, location.startsWith('postgres:') ? { state: location } : {})
let lockWaits = 0
const timed = (store: State) =>
  timedState(store, systemClock, (_store, operation) => {
    if (operation.startsWith('lock:')) lockWaits += 1
  })
const [state, ingest] = [timed(opened.state), timed(opened.ingest)]
const lines = createInterface({ input: process.stdin })[Symbol.asyncIterator]()
const print = (value: object) => console.log(JSON.stringify(value))

if (task === 'quotes') await storeQuotes(Number(more[0]))
else await readMarkets(more[0] ?? '', Number(more[1]))
await opened.close()

async function storeQuotes(parallel: number): Promise<void> {
  const signer = await getReceiptSigner({ state, clock: systemClock, random: systemRandom, fx: createFxCaches() })
  const reply = new Uint8Array(1500)
  const build = async (): Promise<NewQuote> => {
    const nowMs = systemClock.now()
    const id = systemRandom.uuid()
    return {
      ...{ id, keyId: 'caller', createdMs: nowMs, asOfMs: nowMs, nonce: null, pricedFrom: '{}'.padEnd(500) },
      ...{ receiptKey: signer.id, receiptSignature: new Uint8Array(64), reply, overrides: 0 },
    }
  }
  print({})
  for (;;) {
    const line = await lines.next()
    if (line.done) return
    const startMs = systemClock.monotonicMs()
    const untilMs = startMs + Number(line.value) * 1000
    const tookMs: number[] = []
    const caller = async () => {
      for (let atMs = startMs; atMs < untilMs; ) {
        await storeQuote(state, build, {
          keyId: 'caller',
          idempotencyKey: systemRandom.uuid(),
          bodyHash: 'same',
          nowMs: 0,
        })
        const nowMs = systemClock.monotonicMs()
        tookMs.push(nowMs - atMs)
        atMs = nowMs
      }
    }
    await Promise.all(Array.from({ length: parallel }, caller))
    const perSecond = (tookMs.length * 1000) / (systemClock.monotonicMs() - startMs)
    print({ perSecond, lockWaits })
    lockWaits = 0
  }
}

async function readMarkets(url: string, count: number): Promise<void> {
  const paging = { kind: 'offset', size: 100, overlap: 0 }
  const feeds = [{ id: 'main', url, record: 'market', perSecond: 1000, paging }]
  const settings = settingsWith({ markets: { feeds } })
  const duties = dutiesOnThisThread(state)
  const context = createContext({
    state,
    ingest,
    duties,
    settings,
    clock: systemClock,
    random: systemRandom,
    log: silentLog,
  })
  print({})
  await lines.next()
  const startMs = systemClock.monotonicMs()
  const feed = context.settings.markets.feeds[0] as MarketFeed
  const { records } = await readFeed(context, feed, { holder: 'bench', signal: new AbortController().signal })
  if (records !== count) throw new Error(`${records} records were read, not ${count}`)
  print({ perSecond: (records * 1000) / (systemClock.monotonicMs() - startMs) })
}
