// A process of bench/markets.ts. Arguments: the settings as JSON, a data folder or the address of a PostgreSQL, and the
// task. `serve`: a server; prints its port. `read`: reads each feed once for each line on stdin, and merges what is due; prints, before the first
// and after each, what the process has used so far: milliseconds of CPU time, bytes that it has passed to write calls
// (Linux: `wchar`), bytes of the ingest database (SQLite), records read, and the maximum of its memory.
import { readFileSync } from 'node:fs'
import { createInterface } from 'node:readline'
import { readFeed } from '#markets/feeds/read-feed.ts'
import { mergeTicks } from '#markets/ticks/merge-ticks.ts'
import { systemClock } from '#runtime/clock.ts'
import { openLog, silentLog } from '#runtime/log.ts'
import { systemRandom } from '#runtime/random.ts'
import { startServer } from '#server/app.ts'
import { createContext } from '#server/context.ts'
import { openStateAndIngest } from '#storage/open.ts'
import { settingsWith } from '#test/context.ts'
import { dutiesOnThisThread } from '#validators/duties/store.ts'

const [, , settingsJson = '{}', location = '', task] = process.argv
const settings = settingsWith(JSON.parse(settingsJson))
const print = (value: object) => console.log(JSON.stringify(value))
const lines = createInterface({ input: process.stdin })

if (task === 'serve') {
  const log = openLog('warn', (line) => process.stderr.write(line))
  const server = await startServer({ settings, dataDir: location, log })
  print({ port: Number(new URL(server.url).port) })
  for await (const _ of lines) print({ rssMiB: readRssMiB() })
} else {
  const { state, ingest, close } = await openStateAndIngest(
    location,
    location.startsWith('postgres:') ? { state: location } : {},
  )
  const duties = dutiesOnThisThread(state)
  const context = createContext({
    ...{ settings, clock: systemClock, random: systemRandom, log: silentLog },
    ...{ state, ingest, duties },
  })
  const isSqlite = ingest.engine === 'sqlite'
  const sizeSql =
    'select (page_count - freelist_count) * page_size as bytes from pragma_page_count(), pragma_page_size(), pragma_freelist_count()'
  let records = 0
  const report = async () => {
    const { user, system } = process.cpuUsage()
    const written = Number(/wchar: (\d+)/.exec(readFileSync('/proc/self/io', 'utf8'))?.[1])
    const bytes = isSqlite ? ((await ingest.get<{ bytes: number }>(sizeSql))?.bytes ?? 0) : 0
    print({ records, cpuMs: (user + system) / 1000, written, bytes, rssMiB: readRssMiB() })
  }
  await report()
  for await (const _ of lines) {
    for (const feed of settings.markets.feeds) {
      const options = { holder: systemRandom.uuid(), takeOver: true, full: true, signal: AbortSignal.timeout(600_000) }
      records += (await readFeed(context, feed, options)).records
    }
    await mergeTicks(ingest)
    await report()
  }
  await close()
}

/** Linux only. */
function readRssMiB(): number {
  return Math.round(Number(/VmHWM:\s+(\d+)/.exec(readFileSync('/proc/self/status', 'utf8'))?.[1] ?? 0) / 1024)
}
