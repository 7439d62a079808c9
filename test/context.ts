// A context for tests: real databases in a new folder, a clock that the test moves, random numbers from a seed.
//   await using context = await openContext()
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { complete } from '#core/schema-check.ts'
import type { RequestInfo } from '#http/handler.ts'
import { silentLog } from '#runtime/log.ts'
import type { Random } from '#runtime/random.ts'
import { chainTimeFrom, pinsOf } from '#runtime/settings/chain-pins.ts'
import type { NetworksSettings } from '#runtime/settings/validators.ts'
import { type Settings, SettingsSchema } from '#runtime/settings.ts'
import { type AppContext, createContext } from '#server/context.ts'
import { createSeededRandom } from '#simulator/seeded-random.ts'
import { openDuties, openIngest, openState } from '#storage/open.ts'
import type { State, StateWriter, WriteOptions } from '#storage/state.ts'
import { dutiesOnThisThread } from '#validators/duties/store.ts'
import { stateWith } from './authorization.ts'
import { checkColumns } from './check-columns.ts'
import { ManualClock } from './manual-clock.ts'
import { openMigratedDatabase } from './postgres.ts'
import { provenTimeOf } from './proven-time.ts'
import { copyEmptyStores } from './template.ts'

/** 2026-11-15T12:00:00Z, the default time of tests. */
export const testNowMs = Date.UTC(2026, 10, 15, 12)

export type TestContext = AppContext &
  AsyncDisposable & {
    readonly clock: ManualClock
    readonly dir: string
    /** The duties database, for tests that read it directly. */
    readonly dutiesState: State
  }

/**
 * Default settings, changed by `overrides` (as in tetrad.yaml). Simulated and recorded chains are used under any name.
 * States are read from the nodes: those of simulated chains cannot be computed from their blocks.
 */
export function settingsWith(overrides: object = {}): Settings {
  const settings = plainSettings(overrides)
  const { explorer, validators } = settings
  const chosen = (overrides as Overrides).validators?.networks ?? {}
  const accepting = Object.entries(validators.networks).map(([network, options]) => {
    const states = chosen[network]?.states ?? 'node'
    // Most tests have no node that could be asked for the times.
    const times = chainTimeFrom(network, pinsOf(options))
    return [network, { ...options, ...times, states, beacon: { ...options.beacon, acceptAnyChain: true } }]
  })
  const chains = explorer.chains.map((chain) => ({ headMaxAgeMs: 0, ...chain }))
  return {
    ...settings,
    explorer: { ...explorer, chains },
    validators: { ...validators, networks: Object.fromEntries(accepting) as NetworksSettings },
  }
}

interface Overrides {
  readonly validators?: { readonly networks?: Readonly<Record<string, { readonly states?: 'computed' | 'node' }>> }
}

/** The settings of a server that has this configuration. */
export function plainSettings(overrides: object = {}): Settings {
  const { value, problems } = complete(SettingsSchema, overrides)
  if (problems.length > 0) throw new Error(`test settings: ${JSON.stringify(problems)}`)
  return value
}

export function seededRandom(seed: string): Random {
  const draws = createSeededRandom(seed)
  return {
    bytes: (count) => Uint8Array.from({ length: count }, () => draws.whole(0, 256)),
    uuid: () =>
      `${draws.hex(8)}-${draws.hex(4)}-4${draws.hex(3)}-${draws.pick(['8', '9', 'a', 'b'])}${draws.hex(3)}-${draws.hex(12)}`,
  }
}

/** URL of a PostgreSQL server on which every context gets its own database. Default: SQLite. */
const stateServer = process.env.TETRAD_TEST_STATE

/** `copyStores` copies database files into the folder; on PostgreSQL, databases are always empty. */
export async function openContext(
  overrides: object = {},
  nowMs = testNowMs,
  copyStores = copyEmptyStores,
): Promise<TestContext> {
  const dir = await mkdtemp(join(tmpdir(), 'tetrad-test-'))
  await using cleanup = new AsyncDisposableStack()
  cleanup.defer(() => rm(dir, { recursive: true, force: true }))
  const database = stateServer ? cleanup.use(await openMigratedDatabase(stateServer)) : undefined
  const settings = settingsWith(database ? { ...overrides, store: { state: database.url } } : overrides)
  if (!database) await copyStores(dir, 'state.sqlite', 'ingest.sqlite', 'duties.sqlite')
  const state = await (database?.open('state') ?? openState(dir, settings.store))
  cleanup.defer(() => state.close())
  const ingest = database ? state : await openIngest(dir, settings.store)
  if (ingest !== state) cleanup.defer(() => ingest.close())
  // On PostgreSQL they take three connections, and most tests do not use them.
  const dutiesState = database
    ? openAtFirstUse('postgres', () => database.open('duties'))
    : await openDuties(dir, settings.store)
  cleanup.defer(() => dutiesState.close())
  const resources = cleanup.move()
  const clock = new ManualClock(nowMs)
  const checked = (store: State) => checkColumns(process.env.TETRAD_TEST_REPEAT_WRITES ? repeatWrites(store) : store)
  const usedState = checked(state)
  const context = createContext({
    state: usedState,
    ingest: ingest === state ? usedState : checked(ingest),
    duties: dutiesOnThisThread(checked(dutiesState)),
    settings,
    clock,
    provenTime: provenTimeOf(clock),
    random: seededRandom('desk'),
    log: silentLog,
  })
  return {
    ...context,
    clock,
    dir,
    dutiesState,
    [Symbol.asyncDispose]: () => resources.disposeAsync(),
  }
}

function openAtFirstUse(engine: State['engine'], open: () => Promise<State>): State {
  let opening: Promise<State> | undefined
  let opened: State | undefined
  const use = async (): Promise<State> => {
    opening ??= open()
    opened = await opening
    return opened
  }
  return {
    engine,
    get: async (sql, ...values) => (await use()).get(sql, ...values),
    all: async (sql, ...values) => (await use()).all(sql, ...values),
    recent: {
      get: async (sql, ...values) => (await use()).recent.get(sql, ...values),
      all: async (sql, ...values) => (await use()).recent.all(sql, ...values),
      snapshot: async (isRecent, work, signal) => (await use()).recent.snapshot(isRecent, work, signal),
    },
    write: async (work, options) => (await use()).write(work, options),
    writeTogether: async (write, item) => (await use()).writeTogether(write, item),
    snapshot: async (work, signal) => (await use()).snapshot(work, signal),
    async *each(sql, ...values) {
      yield* (await use()).each(sql, ...values)
    },
    version: () => opened?.version() ?? 0,
    close: async () => (await opening)?.close(),
  }
}

const rolledBack = new Error('rolled back')

/**
 * Runs the work of every write twice and rolls the first one back, to test rule 7 of State with the whole suite.
 */
const repeatWrites = (state: State): State => {
  const rollBack = async (work: (tx: StateWriter) => Promise<unknown>, options?: WriteOptions): Promise<void> => {
    const first = state.write(async (tx) => {
      await work(tx)
      throw rolledBack
    }, options)
    await first.catch((error: unknown) => {
      if (error !== rolledBack) throw error
    })
  }
  return stateWith(state, {
    write: async (work, options) => {
      await rollBack(work, options)
      return state.write(work, options)
    },
    writeTogether: async (write, item) => {
      await rollBack((tx) => write(tx, [item]))
      return state.writeTogether(write, item)
    },
  })
}

export const testRequestInfo = (changes: Partial<RequestInfo> = {}): RequestInfo => ({
  caller: { keyId: 'test', plan: 'enterprise' },
  origin: 'http://127.0.0.1:8080',
  headers: {},
  query: {},
  ...changes,
})
