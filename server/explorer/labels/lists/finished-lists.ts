// Caches label lists as serialized bytes, so that a list of 100 000 labels is serialized once per change
// (behaviour/explorer.md#caching-of-label-lists).
//
// 1. The revision is read before the rows. A change in between only means that the list is serialized once more.
// 2. Concurrent requests wait for the same list.
// 3. At most `listsMax` lists and `bytesMax` bytes are kept, but at least one list. The least recently used goes first.
import type { LabelRecord } from '#api/wire/explorer.ts'
import type { ExplorerContext } from '#explorer/context.ts'
import { nextEventLoopTurn } from '#runtime/clock.ts'
import type { State } from '#storage/state.ts'
import { type ListHead, listLabels, readListHead } from '../labels.ts'
import { CompressedBytes, computeEtag } from './compressed-bytes.ts'
import { csvHeader, csvLine, spreadsheetLine } from './csv.ts'
import type { ExportForm } from './signed-link.ts'

export interface FinishedList {
  /** The download file. */
  readonly file: CompressedBytes
  /** The response of group A, only for JSON. The plain file is a part of these bytes. */
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

/** Cached, because the read would cost more than the rest of a 304. */
export const getListHead = async ({ state, explorer }: ExplorerContext, chain: string): Promise<ListHead | undefined> =>
  explorer.listHeads(state, chain, () => readListHead(state, chain))

/** undefined: the chain has no label. `forSpreadsheets` is a setting, so it does not change while the process runs. */
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
  const cached = lists.get(name)
  const entry: CachedList =
    cached?.revision === head.revision
      ? cached
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

/** Compresses the file in every encoding ahead of requests. */
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

/** Counts the plain JSON file twice, because it is part of the envelope. That only overestimates. */
const listSizeBytes = (list: FinishedList | undefined): number => (list?.file.size ?? 0) + (list?.envelope?.size ?? 0)

async function writeList(
  state: State,
  chain: string,
  form: ExportForm,
  forSpreadsheets: boolean,
): Promise<FinishedList> {
  if (form === 'csv') {
    const line = forSpreadsheets ? spreadsheetLine : csvLine
    const file = await joinRecords(listLabels(state, chain), csvHeader, line, '', '')
    return { file: new CompressedBytes(file, await computeEtag(file)) }
  }
  const envelope = await joinRecords(listLabels(state, chain), `${envelopeStart}[`, JSON.stringify, ',', ']}')
  const file = envelope.subarray(envelopeStart.length, -1)
  // They have different addresses, so they may share an etag.
  const etag = await computeEtag(file)
  return { file: new CompressedBytes(file, etag), envelope: new CompressedBytes(envelope, etag) }
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
  const bytes = Buffer.allocUnsafeSlow(chunks.reduce((sum, { length }) => sum + length, 0))
  let at = 0
  for (const chunk of chunks) {
    bytes.set(chunk, at)
    at += chunk.length
    await nextEventLoopTurn()
  }
  return bytes
}
