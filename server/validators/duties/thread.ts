// The thread that runs queries or updates of the duties database, with its own connection.
import { serveThread, threadStart } from '#runtime/worker-thread.ts'
import type { DutyQueries, DutyUpdates, InputOf, LeaseToken } from '#storage/duties.ts'
import { openDuties } from '#storage/open.ts'
import { runQuery, runUpdate } from './operations.ts'
import { hasStages } from './stage.ts'
import type { DutiesLocation } from './store.ts'

const { dir, options } = threadStart<DutiesLocation>()
const opening = openDuties(dir, options)

interface Query<Name extends keyof DutyQueries = keyof DutyQueries> {
  readonly name: Name
  readonly input: InputOf<DutyQueries[Name]>
}

interface Update<Name extends keyof DutyUpdates = keyof DutyUpdates> {
  readonly name: Name
  readonly input: InputOf<DutyUpdates[Name]>
  readonly lease: LeaseToken | undefined
}

const handlers = {
  query: async <Name extends keyof DutyQueries>({ name, input }: Query<Name>, signal: AbortSignal) => ({
    value: await runQuery(await opening, name, input, signal),
  }),
  update: async <Name extends keyof DutyUpdates>({ name, input, lease }: Update<Name>, signal: AbortSignal) => ({
    value: await runUpdate(await opening, name, input, { signal, lease }),
  }),
}

export type DutiesHandlers = typeof handlers

serveThread(handlers, hasStages)
