// Runs a query where the databases are open: in the running server, over its control socket, or in this process.
import { type Log, silentLog } from '#runtime/log.ts'
import { ProvenTime } from '#runtime/proven-time.ts'
import type { Settings } from '#runtime/settings.ts'
import type { AppContext } from '#server/context.ts'
import { refuseDemo, withState } from './data.ts'
import { CommandFailure } from './failure.ts'
import { note } from './print.ts'
import { clock, random } from './runtime.ts'
import { type CommonOptions, configOf, dataDirOf } from './settings.ts'

export interface OwnerQuery<T> {
  /** Name of the control socket call. */
  readonly name: string
  readonly input?: unknown
  /** Runs instead if no server is running. */
  readonly runInProcess: (context: AppContext) => Promise<T>
}

export async function queryOwner<T>(options: CommonOptions, { name, input, runInProcess }: OwnerQuery<T>): Promise<T> {
  const reply = await queryServer<T>(options, name, input)
  return reply ? reply.result : withContext(options, runInProcess)
}

/** Undefined if no server runs on this data folder. */
export async function queryServer<T>(
  options: CommonOptions,
  name: string,
  input?: unknown,
): Promise<{ readonly result: T } | undefined> {
  // Refuses the demo's folder, whose server may be running.
  await withState(options, 'found', async () => {})
  const { callControl, ControlError } = await import('#runtime/control-socket.ts')
  try {
    return (await callControl(dataDirOf(options), name, input)) as { readonly result: T } | undefined
  } catch (error) {
    if (error instanceof ControlError) throw new CommandFailure('control.failed', error.message)
    throw error
  }
}

/** Opens all databases in this process. Fails if a server uses the folder. */
export async function withContext<T>(
  options: CommonOptions,
  work: (context: AppContext) => Promise<T>,
  log: Log = silentLog,
): Promise<T> {
  const { settings } = await configOf(options)
  const [{ loadProvenTime }, { openStores }, { createContext }, { dutiesOnThisThread }] = await Promise.all([
    import('#operations/proven-time/keep-proven-time.ts'),
    import('#storage/open.ts'),
    import('#server/context.ts'),
    import('#validators/duties/store.ts'),
  ])
  const stores = await openStores(dataDirOf(options), { ...settings.store, onUpgrade: note })
  try {
    const { state, ingest } = stores
    const duties = dutiesOnThisThread(stores.duties)
    const provenTime = new ProvenTime(clock)
    await loadProvenTime({ state, provenTime })
    const context = createContext({ settings, state, ingest, duties, clock, provenTime, random, log })
    const isDemo = (await refuseDemo(options, stores)) === 'demo'
    return await work(isDemo ? { ...context, settings: await settingsOfDemo(context) } : context)
  } finally {
    await stores.close()
  }
}

/**
 * The demo's nodes stopped with its server, but its rows use its own hours and days
 * (behaviour/validators.md#changed-hours-and-days).
 */
async function settingsOfDemo(context: AppContext): Promise<Settings> {
  const [{ withDemoWindows }, { withChainTimes }] = await Promise.all([
    import('#simulator/validators/windows.ts'),
    import('#validators/ingest/read/chain-identity.ts'),
  ])
  return withChainTimes({ ...context, settings: withDemoWindows(context.settings) })
}
