// Ingests a simulated chain into a data folder and kills its own process at a commit point, counted from 1:
// `node killed-ingest.ts <folder> <node url> <commit point>`.

import { complete } from '#core/schema-check.ts'
import { systemClock } from '#runtime/clock.ts'
import { silentLog } from '#runtime/log.ts'
import { systemRandom } from '#runtime/random.ts'
import { SettingsSchema } from '#runtime/settings.ts'
import { createContext } from '#server/context.ts'
import { openStores } from '#storage/open.ts'
import { dutiesOnThisThread } from '#validators/duties/store.ts'
import { atCommits } from './commit-points.ts'
import { catchUp, oracleSettings, oracleUntil } from './ingest-oracle.ts'

/** Reads all epochs. Returns the number of commit points. */
export async function ingestAll(dir: string, url: string, killAt = Number.POSITIVE_INFINITY): Promise<number> {
  let points = 0
  const opened = await openStores(dir)
  try {
    const stores = atCommits(opened, () => {
      points += 1
      if (points === killAt) process.kill(process.pid, 'SIGKILL')
    })
    const settings = complete(SettingsSchema, oracleSettings(url)).value
    const context = createContext({
      state: stores.state,
      ingest: stores.ingest,
      duties: dutiesOnThisThread(stores.duties),
      settings,
      clock: systemClock,
      random: systemRandom,
      log: silentLog,
    })
    for (let until = 0; until < oracleUntil; ) until = await catchUp(context, url)
  } finally {
    await opened.close()
  }
  return points
}

if (import.meta.main) {
  const [, , dir = '', url = '', killAt = ''] = process.argv
  await ingestAll(dir, url, Number(killAt))
}
