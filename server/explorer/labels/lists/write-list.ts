// Writes a label list as bytes, in the current thread or on a thread of its own. The garbage of a hundred thousand rows
// is then collected there, and requests do not wait for it.
import type { LabelRecord } from '#api/contract/wire/explorer.ts'
import { computeEtag } from '#http/compressed-bytes.ts'
import { nextEventLoopTurn } from '#runtime/clock.ts'
import { openThread, type WorkerThread } from '#runtime/worker-thread.ts'
import type { StoreOptions } from '#storage/open.ts'
import type { State } from '#storage/state.ts'
import { listLabels, readListHead } from '../labels.ts'
import { csvHeader, csvLine, spreadsheetLine } from './csv.ts'
import type { ListHandlers } from './list-thread.ts'
import type { ExportForm } from './signed-link.ts'

export interface ListInput {
  readonly chain: string
  readonly form: ExportForm
  readonly forSpreadsheets: boolean
  /** The list has at least this revision. */
  readonly revision: number
}

export interface WrittenList {
  /** The CSV file or, for JSON, the response of group A, which contains the file. */
  readonly bytes: Uint8Array
  /** Of the file. The response has another address, so it may have the same etag. */
  readonly etag: string
}

/** The database that a thread opens. */
export interface StateLocation {
  readonly dir: string
  readonly options: StoreOptions
}

export const envelopeStart = '{"status":"1","message":"OK","result":'
const linesPerChunk = 1000

/**
 * With a lower priority than requests; the thread pool of Node has theirs. The thread ends with the work, because lists
 * change rarely and an idle thread needs 15 MB.
 */
export async function withListThread<T>(work: (thread: WorkerThread<ListHandlers>) => Promise<T>): Promise<T> {
  const thread = openThread<ListHandlers>(new URL('./list-thread.ts', import.meta.url), undefined, {
    isBackground: true,
  })
  try {
    return await work(thread)
  } finally {
    await thread.close()
  }
}

/** From one snapshot, of a replica if it has the revision. */
export const writeList = (state: State, input: ListInput): Promise<WrittenList> =>
  state.recent.snapshot(
    async (reader) => ((await readListHead(reader, input.chain))?.revision ?? 0) >= input.revision,
    (reader) => writeRecords(listLabels(reader, input.chain), input),
  )

async function writeRecords(
  labels: AsyncIterable<LabelRecord>,
  { form, forSpreadsheets }: ListInput,
): Promise<WrittenList> {
  if (form === 'csv') {
    const bytes = await joinRecords(labels, csvHeader, forSpreadsheets ? spreadsheetLine : csvLine, '', '')
    return { bytes, etag: await computeEtag(bytes) }
  }
  const bytes = await joinRecords(labels, `${envelopeStart}[`, JSON.stringify, ',', ']}')
  return { bytes, etag: await computeEtag(bytes.subarray(envelopeStart.length, -1)) }
}

/** Converts to bytes in chunks, so that the whole list never exists as text and no step takes long. */
async function joinRecords(
  records: AsyncIterable<LabelRecord>,
  start: string,
  line: (record: LabelRecord) => string,
  separator: string,
  end: string,
): Promise<Uint8Array> {
  const chunks: Uint8Array[] = []
  let text = start
  let count = 0
  for await (const record of records) {
    text += (count > 0 ? separator : '') + line(record)
    count += 1
    if (count % linesPerChunk === 0) {
      chunks.push(Buffer.from(text))
      text = ''
    }
  }
  chunks.push(Buffer.from(text + end))
  // Shared memory, so that other threads read it without a copy.
  const bytes = new Uint8Array(new SharedArrayBuffer(chunks.reduce((sum, { length }) => sum + length, 0)))
  let at = 0
  for (const chunk of chunks) {
    bytes.set(chunk, at)
    at += chunk.length
    await nextEventLoopTurn()
  }
  return bytes
}
