// Who has the stores open: the running server, which is asked over its control socket, or this command itself.
import type { Settings } from '#core/settings.ts'
import type { AppContext } from '#server/context.ts'
import { refuseDemo, withState } from './data.ts'
import { CommandFailure } from './failure.ts'
import { type CommonOptions, configOf, dataDirOf } from './settings.ts'

export interface Question<T> {
  /** What the server is asked. */
  readonly name: string
  readonly input?: unknown
  /** How to answer it here. */
  readonly here: (context: AppContext) => Promise<T>
}

export async function askOwner<T>(options: CommonOptions, { name, input, here }: Question<T>): Promise<T> {
  const answer = await askServer<T>(options, name, input)
  return answer ? answer.result : withContext(options, here)
}

/** Undefined: no server runs on this folder. */
export async function askServer<T>(
  options: CommonOptions,
  name: string,
  input?: unknown,
): Promise<{ readonly result: T } | undefined> {
  // The server that runs may be the demo's: the folder is looked at before it is asked for anything.
  await withState(options, 'found', async () => {})
  const { askControl, ControlError } = await import('#io/control.ts')
  try {
    return (await askControl(dataDirOf(options), name, input)) as { readonly result: T } | undefined
  } catch (error) {
    if (error instanceof ControlError) throw new CommandFailure('control.failed', error.message)
    throw error
  }
}

async function withContext<T>(options: CommonOptions, work: (context: AppContext) => Promise<T>): Promise<T> {
  const { settings: own } = await configOf(options)
  const [{ openStores }, { createContext }, { dutiesHere }, { systemClock }, { systemRandom }, { silentLog }] =
    await Promise.all([
      import('#store/open.ts'),
      import('#server/context.ts'),
      import('#groups/validators/duties/store.ts'),
      import('#io/clock.ts'),
      import('#io/random.ts'),
      import('#io/log.ts'),
    ])
  const stores = await openStores(dataDirOf(options), own.store)
  try {
    const { state } = stores
    const context = createContext({
      settings: own,
      state,
      duties: dutiesHere(stores.duties),
      clock: systemClock,
      random: systemRandom,
      log: silentLog,
    })
    const isDemo = (await refuseDemo(options, state)) === 'demo'
    return await work(isDemo ? { ...context, settings: await settingsOfDemo(context) } : context)
  } finally {
    await stores.close()
  }
}

/** Its nodes are gone with its server; the rows are still those of its hours and days (decision 0187). */
async function settingsOfDemo(context: AppContext): Promise<Settings> {
  const [{ withDemoWindows }, { withChainTimes }] = await Promise.all([
    import('#sim/validators/windows.ts'),
    import('#groups/validators/ingest/chain.ts'),
  ])
  return withChainTimes({ ...context, settings: withDemoWindows(context.settings) })
}
