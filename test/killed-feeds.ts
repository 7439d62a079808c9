// Reads feeds into a database, merges their changes, and kills its own process at a commit point, counted from 1:
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

/** Returns the number of commit points. */
export async function readAndMerge(location: string, overrides: object, killAt = Number.POSITIVE_INFINITY) {
  const settings = settingsWith(overrides)
  const opened = await openStateAndIngest(location, { state: location })
  let points = 0
  try {
    // On PostgreSQL, state and ingest are one object.
    const ingest = withPoints(opened.ingest, () => {
      points += 1
      if (points === killAt) process.kill(process.pid, 'SIGKILL')
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
  console.log(await readAndMerge(location, JSON.parse(settings), Number(killAt)))
}
