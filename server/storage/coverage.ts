// The coverage and the cursor of each stream (blocks of a chain, epochs of a network): which ranges were read completely,
// and where reading continues.
//
// 1. Both are written in the transaction that writes the rows, so that after a crash they never include missing rows.
// 2. The ranges of a stream are merged, so that there are few rows (behaviour/operations.md#coverage-ranges).
import { strict as assert } from 'node:assert'
import { holes, merge, type Range } from '#core/ranges.ts'
import { putRow } from './put-row.ts'
import type { StateReader, StateWriter } from './state.ts'

/** Adds [from, until) to the coverage. */
export async function addCoverage(tx: StateWriter, stream: string, from: number, until: number): Promise<void> {
  assert(Number.isSafeInteger(from) && Number.isSafeInteger(until) && from <= until, `${stream}: [${from}, ${until})`)
  if (from === until) return
  // Ranges that overlap or touch.
  const adjacent = 'where stream = ? and from_at <= ? and until_at >= ?'
  const touched = await rangesWhere(tx, adjacent, [stream, until, from])
  await tx.run(`delete from coverage ${adjacent}`, stream, until, from)
  for (const range of merge([...touched, { from, until }])) {
    const values = [stream, range.from, range.until]
    await tx.run('insert into coverage (stream, from_at, until_at) values (?, ?, ?)', ...values)
  }
}

/** Removes a range from the coverage. */
export async function removeCoverage(tx: StateWriter, stream: string, { from, until }: Range): Promise<void> {
  const overlapping = 'where stream = ? and from_at < ? and until_at > ?'
  const touched = await rangesWhere(tx, overlapping, [stream, until, from])
  if (touched.length === 0) return
  await tx.run(`delete from coverage ${overlapping}`, stream, until, from)
  for (const left of touched.flatMap((range) => holes([{ from, until }], range)))
    await addCoverage(tx, stream, left.from, left.until)
}

/** Removes everything before `until` from the coverage. */
export async function removeCoverageBefore(tx: StateWriter, stream: string, until: number): Promise<void> {
  await tx.run('delete from coverage where stream = ? and until_at <= ?', stream, until)
  await tx.run('update coverage set from_at = ? where stream = ? and from_at < ?', until, stream, until)
}

/** Removes everything from `from` on from the coverage. */
export async function removeCoverageFrom(tx: StateWriter, stream: string, from: number): Promise<void> {
  await tx.run('delete from coverage where stream = ? and from_at >= ?', stream, from)
  await tx.run('update coverage set until_at = ? where stream = ? and until_at > ?', from, stream, from)
}

/** Sorted and merged. */
export const coverageOf = (reader: StateReader, stream: string): Promise<Range[]> =>
  rangesWhere(reader, 'where stream = ? order by from_at', [stream])

/** Where reading of the stream continues; undefined before the first step. */
export async function cursorOf(reader: StateReader, stream: string): Promise<number | undefined> {
  return (await reader.get<{ at: number }>('select at from cursors where stream = ?', stream))?.at
}

export const moveCursor = (tx: StateWriter, stream: string, at: number): Promise<void> =>
  putRow(tx, 'cursors', ['stream'], { stream, at })

async function rangesWhere(reader: StateReader, where: string, values: readonly (string | number)[]): Promise<Range[]> {
  const sql = `select from_at, until_at from coverage ${where}`
  const rows = await reader.all<{ from_at: number; until_at: number }>(sql, ...values)
  return rows.map((row) => ({ from: row.from_at, until: row.until_at }))
}
