// Imports market records from files in parts. Each part is one short transaction, so an interrupted import has stored
// whole parts, and running it again does not change them.
import { parseJson } from '#api/contract/json.ts'
import type { MarketsContext } from '../context.ts'
import { decompose, type Renames } from '../records/decompose.ts'
import type { SplitRecord } from '../records/json-splitter.ts'
import type { KindName } from '../records/kinds.ts'
import { RecordAcceptor, type Reject } from './accept-records.ts'
import { type PutReport, putAccepted } from './put-markets.ts'
import { WritePart } from './write-parts.ts'

export interface ImportTotals {
  /** Records in the file, valid or not. */
  readonly read: number
  /** New or changed records, including records inside others. */
  readonly changed: number
  readonly stale: number
  readonly rejected: number
}

export interface ImportOptions {
  readonly kind: KindName
  readonly renames: Renames
  /** The source under which drift is counted. */
  readonly source: string
  /** Name of the file, for rejects. */
  readonly file: string
  readonly onReject: (reject: Reject) => void | Promise<void>
  readonly onBatch?: (totals: ImportTotals) => void
  readonly signal?: AbortSignal
}

export async function importMarkets(
  context: Pick<MarketsContext, 'ingest' | 'clock'>,
  items: AsyncIterable<SplitRecord>,
  options: ImportOptions,
): Promise<ImportTotals> {
  const { kind, renames, source, file, onReject, onBatch, signal } = options
  const totals = { read: 0, changed: 0, stale: 0, rejected: 0 }
  const { engine } = context.ingest
  let part = new WritePart(engine)
  let acceptor = new RecordAcceptor()
  const addReject = async (reject: Reject) => {
    totals.rejected += 1
    await onReject(reject)
  }
  const flush = async () => {
    if (part.sources.length === 0) return
    const written = part
    part = new WritePart(engine)
    acceptor = new RecordAcceptor()
    const report: PutReport = await context.ingest.write(
      (tx) => putAccepted(tx, written.sources, context.clock.now(), { source }),
      { lock: 'markets' },
    )
    totals.changed += report.changed
    totals.stale += report.stale
    for (const reject of report.rejects) await addReject(reject)
    onBatch?.({ ...totals })
  }
  for await (const item of items) {
    if (signal?.aborted) break
    totals.read += 1
    const location = `${file}:${item.line}`
    const value = 'text' in item ? parseRecord(item.text) : { problem: item.problem }
    if ('problem' in value) {
      await addReject({ kind, id: '', slug: '', location, problems: [{ at: [], message: value.problem }] })
      continue
    }
    part.add(acceptor.accept(decompose(value.json, kind, renames, location)))
    if (part.isFull) await flush()
  }
  if (!signal?.aborted) await flush()
  return totals
}

function parseRecord(text: string): { readonly json: unknown } | { readonly problem: string } {
  try {
    return { json: parseJson(text) }
  } catch (error) {
    return { problem: `is not JSON (${(error as Error).message.slice(0, 120)})` }
  }
}
