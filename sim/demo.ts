// The demo world: what a fresh installation shows when nothing is configured, all of it from a seed. Its chain, its
// rates and its markets stand behind simulated upstreams over HTTP, which the server reads like real ones for as long as
// it runs; the rest is written once through the store functions of the ingesters. After that it is data like any other.
import { contract } from '#api/contract.ts'
import { complete } from '#core/check.ts'
import { type Settings, SettingsSchema } from '#core/settings.ts'
import type { Clock } from '#io/clock.ts'
import type { Desk } from '#serve/answer.ts'
import { cursorOf, moveCursor } from '#store/coverage.ts'
import type { StateReader } from '#store/state.ts'
import { demoFxSettings, startRateFeed } from './fx.ts'
import { type DemoMarkets, openDemoMarkets } from './markets.ts'

/** The examples of the contract are true of this one. */
export const demoSeed = 'harbour'
const begun = 'demo world begun'
const finished = 'demo world finished'

/** Things that are there to ask about. */
export interface DemoSamples {
  readonly address: string
  readonly indices: readonly number[]
  readonly slug: string
}

export interface Demo {
  /** What a configuration file would say to make a server read the simulated feeds. */
  readonly settings: object
  /** The same, on top of settings that are already complete. */
  settingsOver(settings: Settings): Settings
  /** Fills the stores, unless that was done before, and tells what to ask about. */
  load(desk: Desk): Promise<DemoSamples>
  close(): Promise<void>
}

export async function openDemo(): Promise<Demo> {
  const feed = await startRateFeed({ seed: demoSeed })
  const markets = await openDemoMarkets(demoSeed)
  const settings = { ...demoFxSettings(feed.url), ...markets.settings }
  return {
    settings,
    settingsOver: (below) => merged(below, settings),
    load: (desk) => load(desk, markets),
    close: async () => void (await Promise.all([feed.close(), markets.close()])),
  }
}

/** What a data folder holds: invented data and real data must never be mixed (decision 0063). */
export async function contentsOf(state: StateReader): Promise<'nothing' | 'demo' | 'own'> {
  if ((await cursorOf(state, begun)) !== undefined) return 'demo'
  for (const table of ['cursors', 'coverage', 'labels', 'market_documents', 'fx_rates', 'fx_quotes', 'validators']) {
    if (await state.get(`select 1 as one from ${table} limit 1`)) return 'own'
  }
  return 'nothing'
}

/** Section by section; what the demo does not speak of stays as it was. */
function merged(below: Settings, above: object): Settings {
  const { value, problems } = complete(SettingsSchema, above)
  if (problems.length > 0) throw new Error(`settings of the demo world: ${JSON.stringify(problems)}`)
  const spoken = Object.entries(value).filter(([section]) => section in above)
  return { ...below, ...Object.fromEntries(spoken) }
}

/** A load that was interrupted is done again for the same moment, and every write of it may be repeated. */
async function load(desk: Desk, markets: DemoMarkets): Promise<DemoSamples> {
  const { state, clock } = desk
  if ((await cursorOf(state, finished)) === undefined) {
    const atMs = (await cursorOf(state, begun)) ?? clock.now()
    await state.write((tx) => moveCursor(tx, begun, atMs))
    const then: Clock = {
      now: () => atMs,
      monotonicMs: () => clock.monotonicMs(),
      sleep: (waitMs, signal) => clock.sleep(waitMs, signal),
      every: (periodMs, work) => clock.every(periodMs, work),
    }
    // Loaded only now: a later start should not pay for what it does not do.
    const [{ loadExplorer }, { loadValidators }] = await Promise.all([
      import('./explorer.ts'),
      import('./validators.ts'),
    ])
    await loadExplorer({ ...desk, clock: then }, demoSeed)
    await loadValidators({ ...desk, clock: then }, demoSeed)
    await markets.load({ ...desk, clock: then })
    await state.write((tx) => moveCursor(tx, finished, atMs))
  }
  const known = await state.all<{ validator_index: number }>(
    "select validator_index from validators where network = 'mainnet' order by validator_index limit 5",
  )
  return {
    address: contract['explorer.fundedBy'].example.input.address ?? '',
    indices: known.map((row) => row.validator_index),
    slug: contract['markets.bySlug'].example.input.slug ?? '',
  }
}
