// Composes a page of markets, events or series as bytes, with its ETag, on a thread (markets/threads/thread-query.ts): 500
// events take a few hundred milliseconds. The records are selected before, in another snapshot, so the documents may be
// newer than the selection, but not older.
import { etagOf } from '#http/etag.ts'
import type { RequestInfo } from '#http/handler.ts'
import type { StateReader } from '#storage/state.ts'
import type { MarketsContext } from '../../context.ts'
import { composeMarkets } from '../../read/compose-markets.ts'
import { withoutTags } from '../../records/documents.ts'
import { readForList, type ThreadQuery } from '../../threads/thread-query.ts'
import { composeEvents } from './event-documents.ts'
import { tooLarge } from './respond.ts'
import { composeSeries } from './series-documents.ts'

/** Limits of several documents; one is complete. Of one response: */
const bytesMax = 32 * 2 ** 20
/** Markets of all events of a page, and events of all series. */
const partsMax = 2000
/** Documents that are composed together. Between two of these groups, the thread notices that the request has ended. */
const documentsPerGroup = 50

export interface PageRequest {
  readonly kind: 'market' | 'event' | 'series'
  readonly ids: readonly string[]
  /** Without the tags of markets, or the events of series. */
  readonly isShort?: boolean
  /** JSON around the documents. Default: the brackets of a list. */
  readonly before?: string
  readonly after?: string
}

export interface PageBytes {
  readonly bytes: Uint8Array
  readonly etag: string
}

/** Undefined if these documents are too large together. */
export const composePageQuery: ThreadQuery<PageRequest, PageBytes | undefined> = {
  name: 'composePage',
  async run({ ingest }, { before = '[', after = ']', ...page }) {
    const documents = await ingest.snapshot((reader) => composeDocuments(reader, page))
    if (!documents) return undefined
    const parts: Uint8Array[] = [Buffer.from(before)]
    for (const document of documents) parts.push(...(parts.length > 1 ? [comma] : []), document)
    const bytes = Buffer.concat([...parts, Buffer.from(after)])
    return { bytes, etag: etagOf(bytes) }
  },
}
const comma = Buffer.from(',')

/** `limitName`: the parameter that the caller must lower if the page is too large. */
export async function composePage(
  context: MarketsContext,
  { caller }: RequestInfo,
  page: PageRequest,
  limitName?: string,
): Promise<PageBytes> {
  const composed = await readForList(context, caller, composePageQuery, page)
  if (!composed) throw tooLarge(limitName)
  return composed
}

async function composeDocuments(reader: StateReader, page: PageRequest): Promise<Uint8Array[] | undefined> {
  const documents: Uint8Array[] = []
  const isOne = page.ids.length === 1
  let [byteCount, partCount] = [0, 0]
  for (let from = 0; from < page.ids.length; from += documentsPerGroup) {
    const ids = page.ids.slice(from, from + documentsPerGroup)
    const group = await composeGroup(
      reader,
      page,
      ids,
      isOne && page.kind === 'event' ? Number.POSITIVE_INFINITY : partsMax - partCount,
    )
    if (!group) return undefined
    partCount += group.partCount
    for (const document of group.documents) byteCount += document.byteLength
    if (byteCount > bytesMax && !isOne) return undefined
    documents.push(...group.documents)
  }
  return documents
}

interface Group {
  readonly documents: readonly Uint8Array[]
  /** Markets of the events, or events of the series. */
  readonly partCount: number
}

async function composeGroup(
  reader: StateReader,
  { kind, isShort = false }: PageRequest,
  ids: readonly string[],
  partCountMax: number,
): Promise<Group | undefined> {
  if (kind === 'market') {
    const markets = [...(await composeMarkets(reader, ids)).values()]
    return { documents: markets.map(({ body, tagsAt }) => (isShort ? withoutTags(body, tagsAt) : body)), partCount: 0 }
  }
  const group =
    kind === 'event'
      ? await composeEvents(reader, ids, partCountMax)
      : await composeSeries(reader, ids, isShort, partCountMax)
  return group && { documents: group.texts.map((text) => Buffer.from(text)), partCount: group.partCount }
}

/** Undefined if the event is not stored. */
export async function composeEvent(
  context: MarketsContext,
  request: RequestInfo,
  id: string,
): Promise<PageBytes | undefined> {
  const composed = await composePage(context, request, { kind: 'event', ids: [id], before: '', after: '' })
  return composed.bytes.byteLength > 0 ? composed : undefined
}
