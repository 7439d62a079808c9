// What has been read completely, per stream (a chain's blocks, a network's epochs), and how far its reader has come.
//
// 1. Both are written in the transaction that writes the rows they speak of, in the same store: after a crash they never
//    claim rows that are not there.
// 2. The ranges of a stream are kept merged (behaviour/operations.md#coverage-ranges): their number is that of the holes, not of the batches.
import { strict as assert } from 'node:assert'
import { merge, type Range } from '#core/ranges.ts'
import type { StateReader, StateWriter } from './state.ts'

/** Adds [from, until) to what is covered. */
export async function addCoverage(tx: StateWriter, stream: string, from: number, until: number): Promise<void> {
  assert(Number.isSafeInteger(from) && Number.isSafeInteger(until) && from <= until, `${stream}: [${from}, ${until})`)
  if (from === until) return
  // Those that overlap or touch; all others stay as they are.
  const adjacent = 'where stream = ? and from_at <= ? and until_at >= ?'
  const touched = await rangesWhere(tx, adjacent, [stream, until, from])
  await tx.run(`delete from coverage ${adjacent}`, stream, until, from)
  for (const range of merge([...touched, { from, until }])) {
    const values = [stream, range.from, range.until]
    await tx.run('insert into coverage (stream, from_at, until_at) values (?, ?, ?)', ...values)
  }
}

/** Takes all before `until` out of what is covered. */
export async function removeCoverageBefore(tx: StateWriter, stream: string, until: number): Promise<void> {
  await tx.run('delete from coverage where stream = ? and until_at <= ?', stream, until)
  await tx.run('update coverage set from_at = ? where stream = ? and from_at < ?', until, stream, until)
}

/** Takes all from `from` on out of what is covered. */
export async function removeCoverageFrom(tx: StateWriter, stream: string, from: number): Promise<void> {
  await tx.run('delete from coverage where stream = ? and from_at >= ?', stream, from)
  await tx.run('update coverage set until_at = ? where stream = ? and until_at > ?', from, stream, from)
}

/** In order, merged. */
export const coverageOf = (reader: StateReader, stream: string): Promise<Range[]> =>
  rangesWhere(reader, 'where stream = ? order by from_at', [stream])

/** Where the stream's reader goes on; undefined before its first step. */
export async function cursorOf(reader: StateReader, stream: string): Promise<number | undefined> {
  return (await reader.get<{ at: number }>('select at from cursors where stream = ?', stream))?.at
}

export async function moveCursor(tx: StateWriter, stream: string, at: number): Promise<void> {
  await tx.run(
    'insert into cursors (stream, at) values (?, ?) on conflict (stream) do update set at = excluded.at',
    stream,
    at,
  )
}

async function rangesWhere(reader: StateReader, where: string, values: readonly (string | number)[]): Promise<Range[]> {
  const sql = `select from_at, until_at from coverage ${where}`
  const rows = await reader.all<{ from_at: number; until_at: number }>(sql, ...values)
  return rows.map((row) => ({ from: row.from_at, until: row.until_at }))
}
