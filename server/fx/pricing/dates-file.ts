// Reads a file with the dates of a pricing rule. It is read again at most once in five seconds.
import { Fault } from '#core/fault.ts'
import { readTextFile } from '#runtime/read-text-file.ts'
import type { FxContext } from '../context.ts'

const bytesMax = 65_536
const readEveryMs = 5000
const datePattern = /^(\d{4}-)?\d\d-\d\d$/

export interface DatesFile {
  readonly readMs: number
  readonly dates: Promise<readonly string[]>
}

/**
 * One date per line: `2026-12-24`, or `12-24` for every year. `#` starts a comment. While the file is missing or has
 * another line, quotes that its rule could apply to are refused: the price is not known.
 */
export async function readDates(
  { fx, clock }: Pick<FxContext, 'fx' | 'clock'>,
  path: string,
): Promise<readonly string[]> {
  const monotonicMs = clock.monotonicMs()
  const known = fx.datesFiles.get(path)
  const file =
    known && monotonicMs - known.readMs < readEveryMs ? known : { readMs: monotonicMs, dates: parseFile(path) }
  fx.datesFiles.set(path, file)
  try {
    return await file.dates
  } catch (error) {
    throw new Fault('fx.stopped', { detail: `the dates of a pricing rule: ${(error as Error).message}` })
  }
}

async function parseFile(path: string): Promise<readonly string[]> {
  const lines = (await readTextFile(path, bytesMax)).split('\n').map((line) => line.replace(/#.*/, '').trim())
  const dates = lines.filter((line) => line !== '')
  const bad = dates.find((line) => !datePattern.test(line))
  if (bad !== undefined)
    throw new Error(`${path} has the line ${bad.slice(0, 40)}, which is not a date such as 2026-12-24`)
  return dates
}
