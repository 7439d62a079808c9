// Label lists as finished bytes, kept ready: a list of 100 000 is written once per change, not once per call.
//
// 1. A list is kept under the revision read before its rows. Rows newer than that revision only mean that the list is
//    written once more than needed; rows older than it are impossible.
// 2. Callers who meet while a list is being written wait for the same one.
// 3. At most `listsMax` lists are kept, of `bytesMax` together but at least one; the one asked for longest ago goes first.
import type { LabelRecord } from '#api/wire/explorer.ts'
import type { ExplorerContext } from '#explorer/context.ts'
import type { State } from '#storage/state.ts'
import { type ListHead, listLabels, readListHead } from '../labels.ts'
import { CompressedBytes } from './compressed-bytes.ts'
import { csvHeader, csvLine, spreadsheetLine } from './csv.ts'
import type { ExportForm } from './signed-link.ts'

export interface FinishedList {
  /** The download: the array of records, or the CSV. */
  readonly file: CompressedBytes
  /** Group A's envelope around the array; the plain file is a view into it. Only of the JSON form. */
  readonly envelope?: CompressedBytes
}

export interface CachedList {
  readonly revision: number
  readonly list: Promise<FinishedList>
  finished?: FinishedList
}

export const listsMax = 16
const bytesMax = 512 * 1024 * 1024
const linesPerChunk = 1000
const envelopeStart = '{"status":"1","message":"OK","result":'

/** Cached: reading it would cost more than the rest of a 304. */
export const getListHead = ({ state, explorer }: ExplorerContext, chain: string): Promise<ListHead | undefined> =>
  explorer.listHeads(state, chain, () => readListHead(state, chain))

/**
 * The chain's list in this form; undefined when the chain has no label. `forSpreadsheets` is a setting, so it is the same in every
 * call of a process.
 */
export async function getFinishedList(
  context: ExplorerContext,
  chain: string,
  form: ExportForm,
  forSpreadsheets = false,
): Promise<FinishedList | undefined> {
  const { state, explorer } = context
  const head = await getListHead(context, chain)
  if (!head || head.entries === 0) return undefined
  const name = `${chain}.${form}`
  const { lists } = explorer
  const found = lists.get(name)
  const entry: CachedList =
    found?.revision === head.revision
      ? found
      : { revision: head.revision, list: writeList(state, chain, form, forSpreadsheets) }
  lists.delete(name)
  lists.set(name, entry)
  if (entry.finished) return entry.finished
  try {
    entry.finished = await entry.list
    evictLists(lists)
    return entry.finished
  } catch (error) {
    if (lists.get(name) === entry) lists.delete(name)
    throw error
  }
}

/** The same, with its file in every packing that a caller may want. */
export async function prepareEncodings(
  context: ExplorerContext,
  chain: string,
  form: ExportForm,
  forSpreadsheets = false,
): Promise<void> {
  const list = await getFinishedList(context, chain, form, forSpreadsheets)
  for (const encoding of ['gzip', 'br'] as const) await list?.file.encodedAs(encoding)
  evictLists(context.explorer.lists)
}

/** Invariant 3. */
function evictLists(lists: Map<string, CachedList>): void {
  let bytes = 0
  let count = 0
  for (const [name, { finished }] of [...lists].reverse()) {
    bytes += listSizeBytes(finished)
    count += 1
    if (count > listsMax || (count > 1 && bytes > bytesMax)) lists.delete(name)
  }
}

/** The plain file of the JSON form lies inside its envelope and is counted twice: rather too much than too little. */
const listSizeBytes = (list: FinishedList | undefined): number => (list?.file.size ?? 0) + (list?.envelope?.size ?? 0)

async function writeList(
  state: State,
  chain: string,
  form: ExportForm,
  forSpreadsheets: boolean,
): Promise<FinishedList> {
  if (form === 'csv') {
    const line = forSpreadsheets ? spreadsheetLine : csvLine
    return { file: new CompressedBytes(await joinRecords(listLabels(state, chain), csvHeader, line, '', '')) }
  }
  const envelope = await joinRecords(listLabels(state, chain), `${envelopeStart}[`, JSON.stringify, ',', ']}')
  const file = envelope.subarray(envelopeStart.length, -1)
  return { file: new CompressedBytes(file), envelope: new CompressedBytes(envelope) }
}

/** Becomes bytes chunk by chunk, so that the whole never exists as text as well. */
async function joinRecords(
  records: AsyncIterable<LabelRecord>,
  start: string,
  line: (record: LabelRecord) => string,
  between: string,
  end: string,
): Promise<Uint8Array> {
  const chunks: Uint8Array[] = []
  let text = start
  let count = 0
  for await (const record of records) {
    text += (count > 0 ? between : '') + line(record)
    count += 1
    if (count % linesPerChunk === 0) {
      chunks.push(Buffer.from(text))
      text = ''
    }
  }
  chunks.push(Buffer.from(text + end))
  return Buffer.concat(chunks)
}
