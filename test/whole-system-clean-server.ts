// A clean server that reads everything from the sources of a whole-system run after its faults are over. What the servers of
// the run have stored and return must be the same.
import type { Clock } from '#runtime/clock.ts'
import { systemRandom } from '#runtime/random.ts'
import { createKey } from '#storage/keys.ts'
import { openState } from '#storage/open.ts'
import type { HostProcess } from './host-process.ts'
import { copyEmptyStores } from './template.ts'
import { dutyResponses, failingChecks, request } from './whole-system-requests.ts'

export interface CleanServerOptions {
  readonly dataDir: string
  readonly logFile: string
  readonly settings: object
  readonly clock: Clock
  readonly host: HostProcess
  readonly until: (what: string, isTrue: () => Promise<boolean>, detail: () => string) => Promise<void>
  /** Waits until nothing is under way in the process. */
  readonly settle: () => Promise<void>
}

export interface CleanData {
  readonly dataDir: string
  readonly dutyResponses: readonly string[]
}

/** Starts the server, waits until it has read everything, and stops it. */
export async function readEverything(options: CleanServerOptions): Promise<CleanData> {
  const { dataDir, host, logFile, settings } = options
  await copyEmptyStores(dataDir)
  const state = await openState(dataDir)
  const { key } = await createKey(state, { name: 'clean', plan: 'enterprise' }, options.clock, systemRandom)
  await state.close()
  const { url } = await host.call('start', { name: 'clean', dataDir, logFile, settings })
  let unread: readonly object[] = []
  const hasRead = async () => {
    unread = await findUnread(url)
    return unread.length === 0
  }
  await options.until('the clean server has read everything', hasRead, () => JSON.stringify(unread))
  await options.settle()
  const responses = await dutyResponses(url, key)
  await host.call('stop', { name: 'clean' })
  return { dataDir, dutyResponses: responses }
}

/** Failing checks, or streams that are not read completely. */
async function findUnread(url: string): Promise<readonly object[]> {
  const failing = await failingChecks(url)
  if (failing.length > 0) return failing
  const { text } = await request(`${url}/coverage`)
  const { streams } = JSON.parse(text) as { streams: { name: string; status: string }[] }
  return streams.filter(({ name, status }) => status !== 'healthy' && !name.includes('desk'))
}
