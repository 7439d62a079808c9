// A thread that works on the duties database, with connections of its own.
import { serveThread, threadStart } from '#runtime/worker-thread.ts'
import type { LeaseToken } from '#storage/duties.ts'
import { openDuties } from '#storage/open.ts'
import { runQuery, runUpdate } from './operations.ts'
import type { DutiesLocation } from './store.ts'

const { dir, options } = threadStart<DutiesLocation>()
const opening = openDuties(dir, options)

interface Work {
  readonly name: string
  readonly input: unknown
  readonly lease?: LeaseToken
}

serveThread({
  query: async ({ name, input }: Work, signal) => ({ value: await runQuery(await opening, name, input, signal) }),
  update: async ({ name, input, lease }: Work, signal) => ({
    value: await runUpdate(await opening, name, input, { signal, lease }),
  }),
})
