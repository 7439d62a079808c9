// The demo world: what a fresh installation shows when nothing is configured, all of it from a seed. Its chains, its
// rates and its markets stand behind simulated upstreams over HTTP, which the server reads like real ones; those of
// validators, rates and markets live on for as long as it runs.
import { contract } from '#api/contract.ts'
import { complete } from '#core/schema-check.ts'
import { type Settings, SettingsSchema } from '#runtime/settings.ts'
import type { AppContext } from '#server/context.ts'
import { cursorOf, moveCursor } from '#storage/coverage.ts'
import { begun, finished } from './demo-mark.ts'
import { loadExplorer } from './explorer.ts'
import { demoFxSettings, startRateFeed } from './fx.ts'
import { type DemoMarkets, startDemoMarkets } from './markets.ts'
import { stoppedAt } from './stopped-clock.ts'
import { type DemoValidators, startDemoValidators, validatorSamples } from './validators.ts'

/** The examples of the contract are true of this one. */
export const demoSeed = 'harbour'

/** Things that are there to ask about. */
export interface DemoSamples {
  readonly address: string
  readonly indices: readonly number[]
  readonly slug: string
  /** A validator and the chain day on which it was away. */
  readonly badDay: { readonly index: number; readonly day: number }
  /** Two that can be compared. */
  readonly pools: readonly [string, string]
}

export interface Demo {
  /** What a configuration file would say to make a server read the simulated feeds. */
  readonly settings: object
  /** The same, on top of settings that are already complete. */
  settingsOver(settings: Settings): Settings
  /** Fills the stores, unless that was done before, and tells what to ask about. */
  load(context: AppContext): Promise<DemoSamples>
  close(): Promise<void>
}

export async function startDemo(): Promise<Demo> {
  const feed = await startRateFeed({ seed: demoSeed })
  const markets = await startDemoMarkets(demoSeed)
  const validators = await startDemoValidators(demoSeed)
  const settings = { ...demoFxSettings(feed.url), ...markets.settings, ...validators.settings }
  const settingsOver = (below: Settings) => merged(below, settings)
  return {
    settings,
    settingsOver,
    load: (context) => loadDemo({ ...context, settings: settingsOver(context.settings) }, markets, validators),
    close: async () => void (await Promise.all([feed.close(), markets.close(), validators.close()])),
  }
}

/** Section by section; what the demo does not speak of stays as it was. */
function merged(below: Settings, above: object): Settings {
  const { value, problems } = complete(SettingsSchema, above)
  if (problems.length > 0) throw new Error(`settings of the demo world: ${JSON.stringify(problems)}`)
  const spoken = Object.entries(value).filter(([section]) => section in above)
  return { ...below, ...Object.fromEntries(spoken) }
}

/** A load that was interrupted is done again for the same moment, and every write of it may be repeated. */
async function loadDemo(context: AppContext, markets: DemoMarkets, validators: DemoValidators): Promise<DemoSamples> {
  const { state, clock } = context
  await validators.resume(context)
  if ((await cursorOf(state, finished)) === undefined) {
    const atMs = (await cursorOf(state, begun)) ?? clock.now()
    await state.write((tx) => moveCursor(tx, begun, atMs))
    const own = { ...context, clock: stoppedAt(clock, atMs) }
    // Beside each other, because the validators' reading is another thread's work; none is left at work when one fails.
    const ended = await Promise.allSettled([
      validators.load(own),
      loadExplorer(own, demoSeed).then(() => markets.load(own)),
    ])
    for (const one of ended) if (one.status === 'rejected') throw one.reason
    await state.write((tx) => moveCursor(tx, finished, atMs))
  }
  return {
    address: contract['explorer.fundedBy'].example.input.address ?? '',
    slug: contract['markets.bySlug'].example.input.slug ?? '',
    ...validatorSamples,
  }
}
