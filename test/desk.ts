// A desk for tests: real stores in a folder of their own, a clock that only the test moves, chance from a seed.
//   await using desk = await openDesk()
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { complete } from '#core/check.ts'
import { type Settings, SettingsSchema } from '#core/settings.ts'
import { OwnedClock } from '#io/clock.ts'
import { silentLog } from '#io/log.ts'
import type { Random } from '#io/random.ts'
import type { Desk, Visit } from '#serve/answer.ts'
import { chance } from '#sim/chance.ts'
import type { Facts } from '#store/facts.ts'
import { openFacts, openState, type StoreOptions } from '#store/open.ts'
import type { State } from '#store/state.ts'
import { stateWith } from './admission.ts'
import { openMigratedDatabase } from './postgres.ts'
import { copyEmptyStores } from './template.ts'

/** 2026-11-15T12:00:00Z: the present of every test that does not say otherwise. */
export const testNowMs = Date.UTC(2026, 10, 15, 12)

export interface TestDesk extends Desk, AsyncDisposable {
  readonly clock: OwnedClock
  readonly dir: string
}

/** Settings as they are with nothing configured, changed by `overrides` (same shape as tetrad.yaml). */
export function settingsWith(overrides: object = {}): Settings {
  const { value, problems } = complete(SettingsSchema, overrides)
  if (problems.length > 0) throw new Error(`test settings: ${JSON.stringify(problems)}`)
  return value
}

export function seededRandom(seed: string): Random {
  const draws = chance(seed)
  return {
    bytes: (count) => Uint8Array.from({ length: count }, () => draws.whole(0, 256)),
    uuid: () =>
      `${draws.hex(8)}-${draws.hex(4)}-4${draws.hex(3)}-${draws.pick(['8', '9', 'a', 'b'])}${draws.hex(3)}-${draws.hex(12)}`,
  }
}

/** Names a PostgreSQL that every desk gets a place of its own in; otherwise the state is a file. */
const stateServer = process.env.TETRAD_TEST_STATE

export async function openDesk(overrides: object = {}, nowMs = testNowMs): Promise<TestDesk> {
  const dir = await mkdtemp(join(tmpdir(), 'tetrad-test-'))
  await using undo = new AsyncDisposableStack()
  undo.defer(() => rm(dir, { recursive: true, force: true }))
  const schema = stateServer ? undo.use(await openMigratedDatabase(stateServer)) : undefined
  const settings = settingsWith(schema ? { ...overrides, store: { state: schema.url } } : overrides)
  if (!schema) await copyEmptyStores(dir, 'state.sqlite')
  const state = await openState(dir, settings.store)
  undo.defer(() => state.close())
  const facts = openFactsOnUse(dir, settings.store)
  undo.defer(() => facts.close())
  const all = undo.move()
  return {
    dir,
    state: process.env.TETRAD_TEST_TWICE ? runningTwice(state) : state,
    facts,
    settings,
    clock: new OwnedClock(nowMs),
    random: seededRandom('desk'),
    log: silentLog,
    [Symbol.asyncDispose]: () => all.disposeAsync(),
  }
}

/** Most tests never touch the facts, and opening them takes most of the time that a test desk needs. */
function openFactsOnUse(dir: string, options: StoreOptions): Facts {
  let opening: Promise<Facts> | undefined
  let open: { readonly facts: Facts; readonly version: number } | undefined
  const use = (): Promise<Facts> => {
    opening ??= (async () => {
      await copyEmptyStores(dir, 'facts.duckdb')
      const facts = await openFacts(dir, options)
      open = { facts, version: facts.version() ?? 0 }
      return facts
    })()
    return opening
  }
  const engine = 'duckdb'
  return {
    engine,
    query: async (...question) => (await use()).query(...question),
    aside: { engine, query: async (...question) => (await use()).aside.query(...question) },
    now: async (signal) => (await use()).now(signal),
    write: async (work) => (await use()).write(work),
    version: () => {
      if (!open) return 0
      const version = open.facts.version()
      return version === undefined ? undefined : version - open.version
    },
    close: async () => (await opening)?.close(),
  }
}

const undone = new Error('undone')

/** State 7 for the whole suite: the work of every write runs once for nothing, and then for good. */
const runningTwice = (state: State): State =>
  stateWith(state, {
    write: async (work, options) => {
      const first = state.write(async (tx) => {
        await work(tx)
        throw undone
      }, options)
      await first.catch((error: unknown) => {
        if (error !== undone) throw error
      })
      return state.write(work, options)
    },
  })

export const testVisit = (changes: Partial<Visit> = {}): Visit => ({
  caller: { keyId: 'test', plan: 'enterprise' },
  requestId: 'test-request',
  origin: 'http://127.0.0.1:8080',
  headers: {},
  ...changes,
})
