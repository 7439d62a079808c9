// A process that ingests while it holds the lease: every few milliseconds a row with its number and its token.
// `node ingester.ts <number> <state url, or a folder> <pace>`; tells its parent `up`, `begins`, `ends`, and `wrote` each time.
import { leasedState, runWhileLeased } from '#ingest/lease.ts'
import { systemClock } from '#runtime/clock.ts'
import { silentLog } from '#runtime/log.ts'
import { systemRandom } from '#runtime/random.ts'
import { openState } from '#storage/open.ts'
import type { StateWriter } from '#storage/state.ts'

const [, , number = '', location = '', pace = ''] = process.argv
const store = await openState(location, location.startsWith('postgres') ? { state: location } : {})
const state = leasedState(store)
const context = { state, clock: systemClock, random: systemRandom, log: silentLog }
const stop = new AbortController()
process.on('SIGTERM', () => stop.abort())
const report = (word: string) => process.send?.(word)

async function putNumber(tx: StateWriter): Promise<void> {
  const row = await tx.get<{ id: number }>('select coalesce(max(id), 0) as id from numbers')
  // Read once more beside the lease's own check, for the test to judge by.
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
