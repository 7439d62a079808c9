// The thread that runs queries or updates of the duties database, with its own connection.
import { serveThread, threadStart } from '#runtime/worker-thread.ts'
import type { LeaseToken } from '#storage/duties.ts'
import { openDuties } from '#storage/open.ts'
import { runQuery, runUpdate } from './operations.ts'
import { hasStages } from './stage.ts'
import type { DutiesLocation } from './store.ts'

const { dir, options } = threadStart<DutiesLocation>()
const opening = openDuties(dir, options)

interface Call {
  readonly name: string
  readonly input: unknown
  readonly lease?: LeaseToken
}

serveThread(
  {
    query: async ({ name, input }: Call, signal) => ({ value: await runQuery(await opening, name, input, signal) }),
    update: async ({ name, input, lease }: Call, signal) => ({
      value: await runUpdate(await opening, name, input, { signal, lease }),
    }),
  },
  hasStages,
)
