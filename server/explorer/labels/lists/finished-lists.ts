// Caches label lists as serialized bytes, so that a list of 100 000 labels is serialized once per change
// (behaviour/explorer.md#caching-of-label-lists).
//
// 1. The revision is read before the rows. A change in between only means that the list is serialized once more. Rows of a
//    replica are used only if its snapshot has this revision: it may lag behind the primary, from which the revision is.
// 2. Concurrent requests wait for the same list.
// 3. At most `listsMax` lists and `bytesMax` bytes are kept, but at least one list. The least recently used goes first.
import { isRequestEnd } from '#core/shared-work.ts'
import type { ExplorerContext } from '#explorer/context.ts'
import { type Compress, CompressedBytes } from '#http/compressed-bytes.ts'
import { type ListHead, readListHead } from '../labels.ts'
import type { ExportForm } from './signed-link.ts'
import { envelopeStart, withListThread, writeList } from './write-list.ts'

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
/** Larger lists are written on a thread: reading and writing their rows would slow down requests. */
export const threadEntriesMin = 5000

/** Cached, because the read would cost more than the rest of a 304. */
export const getListHead = async (
  { ingest, explorer }: ExplorerContext,
  chain: string,
): Promise<ListHead | undefined> => explorer.listHeads(ingest, chain, () => readListHead(ingest, chain))

/** undefined: the chain has no label. */
export async function getFinishedList(
  context: ExplorerContext,
  chain: string,
  form: ExportForm,
): Promise<FinishedList | undefined> {
  const head = await getListHead(context, chain)
  if (!head || head.entries === 0) return undefined
  const name = `${chain}.${form}`
  const { lists } = context.explorer
  const cached = lists.get(name)
  const known = cached?.revision === head.revision ? cached : undefined
  const entry: CachedList = known ?? { revision: head.revision, list: buildList(context, head, chain, form) }
  lists.delete(name)
  lists.set(name, entry)
  if (entry.finished) return entry.finished
  try {
    entry.finished = await entry.list
    evictLists(lists)
    return entry.finished
  } catch (error) {
    if (lists.get(name) === entry) lists.delete(name)
    // The caller that started it has left.
    if (known && isRequestEnd(error)) return getFinishedList(context, chain, form)
    throw error
  }
}

/** Smaller files are compressed sooner than a thread starts. */
const threadBytesMin = 1024 * 1024

/** Compresses the file in every encoding ahead of requests. */
export async function prepareEncodings(context: ExplorerContext, chain: string, form: ExportForm): Promise<void> {
  const list = await getFinishedList(context, chain, form)
  if (!list) return
  const { file } = list
  const isOnThread = context.explorer.listThreadStore !== undefined && file.plain.bytes.length >= threadBytesMin
  const encode = async (compress?: Compress) => {
    for (const encoding of ['gzip', 'br'] as const) await file.encodedAs(encoding, compress)
  }
  // The bytes are in shared memory, so they are not copied.
  if (isOnThread)
    await withListThread((thread) => encode((bytes, compression) => thread.call('compress', { bytes, compression })))
  else await encode()
  evictLists(context.explorer.lists)
}

/** Rule 3. */
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

async function buildList(
  { ingest, settings, signal, explorer: { listThreadStore } }: ExplorerContext,
  { entries, revision }: ListHead,
  chain: string,
  form: ExportForm,
): Promise<FinishedList> {
  const input = { chain, form, revision, forSpreadsheets: settings.explorer.labels.csvForSpreadsheets }
  const isOnThread = listThreadStore !== undefined && entries >= threadEntriesMin
  const { bytes, etag } = isOnThread
    ? await withListThread((thread) => thread.call('write', { ...input, location: listThreadStore }, signal))
    : await writeList(ingest, input)
  if (form === 'csv') return { file: new CompressedBytes(bytes, etag) }
  const file = new CompressedBytes(bytes.subarray(envelopeStart.length, -1), etag)
  return { file, envelope: new CompressedBytes(bytes, etag) }
}
