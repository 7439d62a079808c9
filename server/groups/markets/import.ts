// Market records out of files, in batches: each batch is one transaction, so a run that is cut off has done whole
// batches, and running it again changes nothing that is there already.
import { parseJson } from '#api/json.ts'
import type { MarketsContext } from './context.ts'
import { decompose, type Renames } from './decompose.ts'
import type { KindName } from './kinds.ts'
import { settle } from './rebuild.ts'
import { type PutReport, putMarkets, type Reject } from './records.ts'
import type { MarketRecord } from './refine.ts'
import type { Piece } from './split.ts'

/** A batch is written when it has this many records of the file, or this many characters. */
const batchRecords = 200
const batchChars = 4_194_304
/** Others who wait to write get their turn between batches. */
const breathMs = 2

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
  pieces: AsyncIterable<Piece>,
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
      putMarkets(tx, records, context.clock.now(), { source, later: true }),
    )
    totals.changed += report.changed
    totals.written += report.written
    totals.stale += report.stale
    for (const one of report.rejects) await reject(one)
    onBatch?.({ ...totals })
    await context.clock.sleep(breathMs, signal)
  }
  for await (const piece of pieces) {
    if (signal?.aborted) break
    totals.read += 1
    const place = `${file}:${piece.line}`
    const value = 'text' in piece ? parsed(piece.text) : { problem: piece.problem }
    if ('problem' in value) {
      await reject({ kind, id: '', slug: '', place, problems: [{ at: [], says: value.problem }] })
      continue
    }
    batch.push(...decompose(value.json, kind, renames, place))
    waiting += 1
    chars += 'text' in piece ? piece.text.length : 0
    if (waiting >= batchRecords || chars >= batchChars) await flush()
  }
  if (!signal?.aborted) await flush()
  // Also when it was stopped: what went in is answered from now on.
  totals.written += await settle(context.state, () => context.clock.now())
  return totals
}

function parsed(text: string): { readonly json: unknown } | { readonly problem: string } {
  try {
    return { json: parseJson(text) }
  } catch (error) {
    return { problem: `is not JSON (${(error as Error).message.slice(0, 120)})` }
  }
}
