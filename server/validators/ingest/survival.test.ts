// Ingest that is killed several times stores the same rows as an uninterrupted run.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { systemClock } from '#runtime/clock.ts'
import { createSeededRandom } from '#simulator/seeded-random.ts'
import { openDuties } from '#storage/open.ts'
import { openReplay } from '#test/beacon-replay.ts'
import { openContext } from '#test/context.ts'
import { isLongRun } from '#test/long.ts'
import { openFollower } from '#test/open-follower.ts'
import { type OtherProcess, startProcess } from '#test/second-process.ts'
import { everythingStored, storedRows } from '#test/stored-duties.ts'
import { dutiesOnThisThread } from '../duties/store.ts'
import { withChainTimes } from './read/chain-identity.ts'

/** Every start loads the server. test/killed-ingest.test.ts kills before and after commits. */
const killsPlanned = isLongRun ? 4 : 1

/** Half of the validators, so that the watch list is stored as well. */
const watch = Array.from({ length: 32 }, (_, at) => String(2 * at))

const settingsFor = (url: string) => ({
  validators: {
    networks: { hoodi: { epochsPerHour: 3, epochsPerDay: 6, watch, beacon: { urls: [url], fromEpoch: 2 } } },
  },
})

const child = (dir: string, store: object, url: string) => `
  const { openStores } = await load('server/storage/open.ts')
  const { dutiesOnThisThread } = await load('server/validators/duties/store.ts')
  const { settingsWith } = await load('test/context.ts')
  const { systemClock } = await load('server/runtime/clock.ts')
  const { silentLog } = await load('server/runtime/log.ts')
  const { withChainTimes } = await load('server/validators/ingest/read/chain-identity.ts')
  const { openFollower } = await load('test/open-follower.ts')
  const { createValidatorsCaches } = await load('server/validators/context.ts')
  const stores = await openStores(${JSON.stringify(dir)}, ${JSON.stringify(store)})
  const context = { ingest: stores.ingest, duties: dutiesOnThisThread(stores.duties), settings: settingsWith(${JSON.stringify(settingsFor(url))}), clock: systemClock, log: silentLog, validators: createValidatorsCaches() }
  const settings = await withChainTimes(context)
  const follower = await openFollower({ ...context, settings }, 'hoodi')
  await follower.catchUp(new AbortController().signal, ({ until }) => print(String(until)))
  await stores.close()
  print('done')
`

test('killed at any point and started again, ingest writes the same rows as a clean run', async () => {
  const draws = createSeededRandom('kill')
  let running: OtherProcess | undefined
  let killAt = 0
  await using node = await openReplay({
    meddle: (exchange, count) => {
      if (count < killAt) return exchange
      // The process dies while it waits for a response, or while it writes.
      void running?.kill()
      return undefined
    },
  })
  await using clean = await openContext(settingsFor(node.url))
  await using broken = await openContext(settingsFor(node.url))
  // The other process opens these files.
  await broken.dutiesState.close()
  await broken.ingest.close()

  killAt = Number.POSITIVE_INFINITY
  const settings = await withChainTimes({ ...clean, clock: systemClock })
  const follower = await openFollower({ ...clean, settings, clock: systemClock }, 'hoodi')
  await follower.catchUp(new AbortController().signal)

  let kills = 0
  for (let lastLine: string | undefined; lastLine !== 'done'; ) {
    // A new process needs about twenty requests before it writes. The last one is not killed.
    killAt = kills < killsPlanned ? node.requests.length + draws.whole(25, 120) : Number.POSITIVE_INFINITY
    running = startProcess(child(broken.dir, broken.settings.store, node.url))
    for (let line = await running.line(); line !== undefined; line = await running.line()) lastLine = line
    await running.kill()
    if (lastLine !== 'done') kills += 1
    assert(kills < 12, 'ingest does not finish')
  }
  assert(kills >= Math.min(3, killsPlanned), `only ${kills} kills`)
  const dutiesState = await openDuties(broken.dir, broken.settings.store)
  try {
    const again = { dutiesState, duties: dutiesOnThisThread(dutiesState), settings }
    assert((await storedRows(again, 'hoodi', 'hours')).length > 100)
    assert.deepEqual(await everythingStored(again), await everythingStored({ ...clean, settings }))
  } finally {
    await dutiesState.close()
  }
})
