// Two servers on one database, for tests of what the groups rely on when several servers share it.
import { nextEventLoopTurn, systemClock } from '#runtime/clock.ts'
import { systemRandom } from '#runtime/random.ts'
import { stateMigrations } from '#storage/migrations.ts'
import type { State } from '#storage/state.ts'
import { stateWith } from '../authorization.ts'
import type { CreateLocation } from './store-location.ts'

export const nowMs = Date.UTC(2026, 10, 15)
export const [clock, random] = [systemClock, systemRandom]

/** Opens a database twice. */
export async function openTwoServers(createLocation: CreateLocation) {
  const resources = new AsyncDisposableStack()
  const location = resources.use(await createLocation())
  const open = async () => resources.adopt(await location.open(stateMigrations), (state) => state.close())
  return { one: await open(), other: await open(), [Symbol.asyncDispose]: () => resources.disposeAsync() }
}

/** The state of a server that stops before its next commit, until it is released. */
export function stopBeforeCommit(state: State) {
  const [reached, released] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
  const write: State['write'] = (work, options) =>
    state.write(async (tx) => {
      const result = await work(tx)
      reached.resolve()
      await released.promise
      return result
    }, options)
  const writeTogether: State['writeTogether'] = async (group, item) => {
    const [result] = await write((tx) => group(tx, [item]))
    return result as never
  }
  return { state: stateWith(state, { write, writeTogether }), reached: reached.promise, release: released.resolve }
}

/** Enough for a write that has started and does not have to wait. */
export async function giveTime(state: State): Promise<void> {
  for (let read = 0; read < 100; read += 1) {
    await state.get('select 1 as one')
    await nextEventLoopTurn()
  }
}
