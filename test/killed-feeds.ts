// Reads feeds into a database, and merges their changes. As a process, it kills itself at a commit point, counted from 1:
// `node killed-feeds.ts <database> <settings> <commit point>`.
import { readFeed } from '#markets/feeds/read-feed.ts'
import { mergePacks } from '#markets/ticks/merge-packs.ts'
import { mergeTicks } from '#markets/ticks/merge-ticks.ts'
import { systemClock } from '#runtime/clock.ts'
import { silentLog } from '#runtime/log.ts'
import { systemRandom } from '#runtime/random.ts'
import { createContext } from '#server/context.ts'
import { openStateAndIngest } from '#storage/open.ts'
import { dutiesOnThisThread } from '#validators/duties/store.ts'
import { withPoints } from './commit-points.ts'
import { settingsWith } from './context.ts'

/** Passes over each feed. */
const passes = 12
/** A failover takes longer than the default on a busy machine. */
const stateWaitMs = 60_000

/** Calls `onPoint` with the number of each commit point, and returns how many there were. */
export async function readAndMerge(location: string, overrides: object, onPoint = (_: number): void => {}) {
  const settings = settingsWith(overrides)
  const opened = await openStateAndIngest(location, { state: location, stateWaitMs })
  let points = 0
  try {
    // On PostgreSQL, state and ingest are one object.
    const ingest = withPoints(opened.ingest, () => {
      points += 1
      onPoint(points)
    })
    const context = createContext({
      ...{ settings, clock: systemClock, random: systemRandom, log: silentLog },
      ...{ state: ingest, ingest, duties: dutiesOnThisThread(ingest) },
    })
    for (let pass = 0; pass < passes; pass++) {
      for (const feed of settings.markets.feeds) {
        const options = { holder: systemRandom.uuid(), takeOver: true, full: true, signal: AbortSignal.timeout(60_000) }
        await readFeed(context, feed, options)
      }
      await mergeTicks(ingest, undefined, 2)
      await mergePacks(ingest, Number.MAX_SAFE_INTEGER, undefined, 2)
    }
  } finally {
    await opened.close()
  }
  return points
}

if (import.meta.main) {
  const [, , location = '', settings = '{}', killAt = ''] = process.argv
  const kill = (point: number) => void (point === Number(killAt) && process.kill(process.pid, 'SIGKILL'))
  console.log(await readAndMerge(location, JSON.parse(settings), kill))
}
