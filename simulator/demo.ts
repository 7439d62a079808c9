// The demo: what a server without a configuration serves. All data is generated from a seed. Simulated nodes and feeds
// provide it over HTTP, and the server reads them like real ones. Validators, rates and markets continue while the
// server runs.
import { contract } from '#api/contract/contract.ts'
import { fillDefaults } from '#core/schema-check.ts'
import { type Settings, SettingsSchema } from '#runtime/settings.ts'
import type { AppContext } from '#server/context.ts'
import { cursorOf, moveCursor } from '#storage/coverage.ts'
import { issueKey } from '#storage/keys.ts'
import { finishedCursor, startedCursor } from './demo-mark.ts'
import { demoSeed } from './demo-seed.ts'
import { loadExplorer } from './explorer.ts'
import { demoFxSettings, loadPastRates, startRateFeed } from './fx.ts'
import { demoMarketSettings, readPastMarkets } from './markets.ts'
import type { DemoNodes } from './nodes.ts'
import { openNodesThread } from './open-nodes-thread.ts'
import type { PastSources } from './past-sources.ts'
import { stoppedAt } from './stopped-clock.ts'
import { type DemoValidators, type LoadOptions, startDemoValidators, validatorSamples } from './validators.ts'

export { loadedShare } from './validators.ts'

/** Existing data, for example calls. */
export interface DemoSamples {
  readonly address: string
  readonly indices: readonly number[]
  readonly slug: string
  /** A validator and a chain day on which it was offline. */
  readonly badDay: { readonly index: number; readonly day: number }
  readonly pools: readonly [string, string]
}

export interface Demo {
  /** Settings that make a server read the simulated nodes and feeds. */
  readonly settings: object
  /** Replaces these sections in complete settings. */
  settingsOver(settings: Settings): Settings
  /** Fills the databases, unless that was done before. */
  load(context: AppContext, options?: LoadOptions): Promise<DemoSamples>
  /** Waits until a running server has read what `load` left out (`recentDays`), or until the signal aborts. */
  finish(context: AppContext, signal: AbortSignal): Promise<void>
  close(): Promise<void>
}

/** Closes the nodes too. */
export async function startDemo(nodes: DemoNodes = openNodesThread(demoSeed)): Promise<Demo> {
  const feed = await startRateFeed(demoSeed)
  const validators = await startDemoValidators(demoSeed, nodes)
  const { markets } = await nodes.urls()
  const sections = { ...demoFxSettings(feed.url), ...demoMarketSettings(markets), ...validators.settings }
  const settings = { ...sections, explorer: { reverseLookups: true } }
  const settingsOver = (base: Settings) => ({
    ...mergeSections(base, sections),
    explorer: { ...base.explorer, ...settings.explorer },
  })
  return {
    settings,
    settingsOver,
    load: (context, options) =>
      loadDemo({ ...context, settings: settingsOver(context.settings) }, nodes, validators, options),
    finish: validators.finish,
    close: async () => void (await Promise.all([feed.close(), validators.close()])),
  }
}

/** Only hashes of keys are stored, so each start creates a new demo key. */
export async function createDemoKey({ state, clock, random }: AppContext): Promise<string> {
  return (await issueKey(state, { id: 'demo', name: 'demo', plan: 'enterprise' }, clock, random)).key
}

function mergeSections(base: Settings, sections: object): Settings {
  const replaced = Object.entries(fillDefaults(SettingsSchema, sections)).filter(([section]) => section in sections)
  return { ...base, ...Object.fromEntries(replaced) }
}

/** An interrupted load is repeated with the same time, so that every write has the same result. */
async function loadDemo(
  context: AppContext,
  nodes: DemoNodes,
  validators: DemoValidators,
  options?: LoadOptions,
): Promise<DemoSamples> {
  const { state, clock } = context
  await validators.resume(context)
  const atMs = (await cursorOf(state, startedCursor)) ?? clock.now()
  await nodes.setCreated(atMs)
  if ((await cursorOf(state, finishedCursor)) === undefined) {
    await state.write((tx) => moveCursor(tx, startedCursor, atMs))
    const fixedContext = { ...context, clock: stoppedAt(clock, atMs) }
    // In parallel, because other threads simulate the sources and read the validators.
    await waitForAll([
      validators.load(fixedContext, options),
      loadPastRates(fixedContext, demoSeed),
      loadPastSources(fixedContext, () => nodes.openPast(atMs)),
    ])
    await state.write((tx) => moveCursor(tx, finishedCursor, atMs))
  }
  return {
    address: contract['explorer.fundedBy'].example.input.address ?? '',
    slug: contract['markets.bySlug'].example.input.slug ?? '',
    ...validatorSamples,
  }
}

async function loadPastSources(context: AppContext, open: () => Promise<PastSources>): Promise<void> {
  await using past = await open()
  await waitForAll([loadExplorer(context, demoSeed, past.chains), readPastMarkets(context, past.markets)])
}

/** Waits for all of them even if one fails, so that none keeps running. */
async function waitForAll(loads: readonly Promise<unknown>[]): Promise<void> {
  for (const result of await Promise.allSettled(loads)) if (result.status === 'rejected') throw result.reason
}
