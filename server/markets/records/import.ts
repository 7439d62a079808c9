// Market records out of files, in batches: each batch is one transaction, so a run that is cut off has done whole
// batches, and running it again changes nothing that is there already.
import { parseJson } from '#api/json.ts'
import type { MarketsContext } from '../context.ts'
import { decompose, type Renames } from './decompose.ts'
import type { SplitRecord } from './json-splitter.ts'
import type { KindName } from './kinds.ts'
import type { MarketRecord } from './normalize.ts'
import { type PutReport, putMarkets, type Reject } from './put-markets.ts'
import { writeDeferred } from './rebuild.ts'

/** A batch is written when it has this many records of the file, or this many characters. */
const batchRecords = 200
const batchChars = 4_194_304
/** Others who wait to write get their turn between batches. */
const pauseMs = 2

export interface ImportTotals {
  /** Records of the file, good and bad. */
  readonly read: number
  /** Stored records that are new or different, those inside others included. */
  readonly changed: number
  /** Answers that are new or different. */
  readonly written: number
  readonly stale: number
  readonly rejected: number
}

export interface ImportOptions {
  readonly kind: KindName
  readonly renames: Renames
  /** Whose drift it is. */
  readonly source: string
  /** Name of the file, for rejects. */
  readonly file: string
  readonly onReject: (reject: Reject) => void | Promise<void>
  readonly onBatch?: (totals: ImportTotals) => void
  readonly signal?: AbortSignal
}

export async function importMarkets(
  context: Pick<MarketsContext, 'state' | 'clock'>,
  items: AsyncIterable<SplitRecord>,
  options: ImportOptions,
): Promise<ImportTotals> {
  const { kind, renames, source, file, onReject, onBatch, signal } = options
  const totals = { read: 0, changed: 0, written: 0, stale: 0, rejected: 0 }
  let batch: MarketRecord[] = []
  let waiting = 0
  let chars = 0
  const reject = async (one: Reject) => {
    totals.rejected += 1
    await onReject(one)
  }
  const flush = async () => {
    if (batch.length === 0) return
    const records = batch
    batch = []
    waiting = 0
    chars = 0
    const report: PutReport = await context.state.write((tx) =>
      putMarkets(tx, records, context.clock.now(), { source, isDeferred: true }),
    )
    totals.changed += report.changed
    totals.written += report.written
    totals.stale += report.stale
    for (const one of report.rejects) await reject(one)
    onBatch?.({ ...totals })
    await context.clock.sleep(pauseMs, signal)
  }
  for await (const item of items) {
    if (signal?.aborted) break
    totals.read += 1
    const location = `${file}:${item.line}`
    const value = 'text' in item ? parseRecord(item.text) : { problem: item.problem }
    if ('problem' in value) {
      await reject({ kind, id: '', slug: '', place: location, problems: [{ at: [], message: value.problem }] })
      continue
    }
    batch.push(...decompose(value.json, kind, renames, location))
    waiting += 1
    chars += 'text' in item ? item.text.length : 0
    if (waiting >= batchRecords || chars >= batchChars) await flush()
  }
  if (!signal?.aborted) await flush()
  // Also when it was stopped: what went in is answered from now on.
  totals.written += await writeDeferred(context.state, () => context.clock.now())
  return totals
}

function parseRecord(text: string): { readonly json: unknown } | { readonly problem: string } {
  try {
    return { json: parseJson(text) }
  } catch (error) {
    return { problem: `is not JSON (${(error as Error).message.slice(0, 120)})` }
  }
}
