// A process that inserts a row with its number and lease token every few milliseconds while it holds the lease.
// `node ingester.ts <number> <state URL or folder> <pace>` sends `up`, `begins`, `wrote` and `ends` to its parent.
import { runWhileLeased } from '#ingest/lease.ts'
import { leasedState } from '#ingest/leased-stores.ts'
import { systemClock } from '#runtime/clock.ts'
import { silentLog } from '#runtime/log.ts'
import { systemRandom } from '#runtime/random.ts'
import { openIngest } from '#storage/open.ts'
import type { StateWriter } from '#storage/state.ts'

const [, , number = '', location = '', pace = ''] = process.argv
const store = await openIngest(location, location.startsWith('postgres') ? { state: location } : {})
const state = leasedState(store)
const context = { ingest: state, clock: systemClock, random: systemRandom, log: silentLog }
const stop = new AbortController()
process.on('SIGTERM', () => stop.abort())
const report = (event: string) => process.send?.(event)

async function putNumber(tx: StateWriter): Promise<void> {
  const row = await tx.get<{ id: number }>('select coalesce(max(id), 0) as id from numbers')
  // The lease checks the token too; the test needs it in the row.
  const lease = await tx.get<{ token: number }>(`select token from leases where name = 'numbers'`)
  const values = [(row?.id ?? 0) + 1, Number(number), lease?.token ?? 0]
  await tx.run('insert into numbers (id, process, token) values (?, ?, ?)', ...values)
}

report('up')
await runWhileLeased(
  context,
  {
    name: 'numbers',
    pace: JSON.parse(pace),
    work: async (signal) => {
      report('begins')
      try {
        while (!signal.aborted) {
          await state.write(putNumber)
          report('wrote')
          await systemClock.sleep(10, signal)
        }
      } finally {
        report('ends')
      }
    },
  },
  stop.signal,
)
await state.close()
process.disconnect?.()
