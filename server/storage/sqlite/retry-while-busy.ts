// Repeats a call of SQLite while another connection has locked the file. Between the tries, other code of the thread runs.
import { systemClock } from '#runtime/clock.ts'
import { isBusy, renameSqlite } from './errors.ts'

/** Short, because others may release the lock for a few milliseconds only. */
const stepMs = 2

/** Throws the error of the last try when the time is up. */
export async function retryWhileBusy<T>(file: string, waitMs: number, work: () => T): Promise<T> {
  let untilMs: number | undefined
  for (;;) {
    try {
      return work()
    } catch (error) {
      untilMs ??= systemClock.monotonicMs() + waitMs
      if (!isBusy(error) || systemClock.monotonicMs() >= untilMs) throw renameSqlite(error, file)
    }
    await systemClock.sleep(stepMs)
  }
}
