// Writes the responses about a market and an event from their records, which have been loaded before. Pure.
//
// 1. Fields are in the order of the contract, so the same records give the same bytes and the same ETag.
// 2. The market's own tags come last, so the response without tags is a prefix of these bytes
//    (behaviour/markets.md#tags).
// 3. A link to a record that is not stored is omitted. A list is omitted if none of its records is stored.
import { stringifyJson } from '#api/contract/json.ts'
import { etagOf } from '#http/etag.ts'
import { eventMarkets, type KindName, kinds, type Reference } from './kinds.ts'

export interface StoredRecord {
  readonly fields: Readonly<Record<string, unknown>>
  readonly links: Readonly<Record<string, readonly string[]>>
}

/** The fields of a record that a reference shows. */
export interface RecordReference {
  readonly id: string
  readonly slug: string | null
  readonly title: string | null
}

/** The loaded records. */
export interface RecordGraph {
  record(kind: KindName, id: string): StoredRecord | undefined
  /** The records that link to this one, in order. */
  referring(reference: Reference, id: string): readonly RecordReference[]
  /** Every loaded record. */
  names(): (readonly [KindName, string])[]
}

export interface Document {
  readonly body: Uint8Array
  /** Offset of the tags, including the comma before them; -1 without tags. */
  readonly tagsAt: number
  readonly etag: string
}

/** Texts of records that are already written, so that an event of 300 markets is written once, not 300 times. */
export type WrittenTexts = Map<string, string | undefined>

export function writeMarket(graph: RecordGraph, id: string, written: WrittenTexts): Document | undefined {
  const market = graph.record('market', id)
  if (!market) return undefined
  const head = writeMembers(graph, 'market', id, market, written, (name) => name !== 'tags')
  const tags = writeMembers(graph, 'market', id, market, written, (name) => name === 'tags')
  const body = Buffer.from(tags === '' ? `{${head}}` : `{${head},${tags}}`)
  return { body, tagsAt: tags === '' ? -1 : Buffer.byteLength(head) + 1, etag: etagOf(body) }
}

/** An event with its markets, which come last. The graph has them without their events (extensions/lists/event-documents.ts). */
export function writeEvent(graph: RecordGraph, id: string, written: WrittenTexts): string | undefined {
  const event = graph.record('event', id)
  if (!event) return undefined
  const head = writeMembers(graph, 'event', id, event, written, (name) => name !== 'markets')
  const ids = graph.referring(eventMarkets, id).map((market) => market.id)
  const markets = ids.length > 0 ? writeLinked(graph, 'market', ids, written, false) : undefined
  return markets === undefined ? `{${head}}` : `{${head},"markets":${markets}}`
}

/** The response without the market's own tags. */
export function withoutTags(body: Uint8Array, tagsAt: number): Uint8Array {
  return tagsAt < 0 ? body : Buffer.concat([body.subarray(0, tagsAt), closing])
}
const closing = Buffer.from('}')

export function writeRecord(graph: RecordGraph, kind: KindName, id: string, written: WrittenTexts): string | undefined {
  const name = `${kind}/${id}`
  if (written.has(name)) return written.get(name)
  const record = graph.record(kind, id)
  const text = record && `{${writeMembers(graph, kind, id, record, written, () => true)}}`
  written.set(name, text)
  return text
}

function writeMembers(
  graph: RecordGraph,
  kind: KindName,
  id: string,
  record: StoredRecord,
  written: WrittenTexts,
  isIncluded: (name: string) => boolean,
): string {
  const { schema, links, references } = kinds[kind]
  const parts: string[] = []
  for (const name of Object.keys(schema.properties)) {
    if (!isIncluded(name)) continue
    const link = links[name]
    const reference = references[name]
    const text = link
      ? writeLinked(graph, link.to, record.links[name], written, link.one === true)
      : reference
        ? writeReferences(graph.referring(reference, id), reference)
        : record.fields[name] === undefined
          ? undefined
          : stringifyJson(record.fields[name])
    if (text !== undefined) parts.push(`"${name}":${text}`)
  }
  return parts.join(',')
}

function writeLinked(
  graph: RecordGraph,
  to: KindName,
  ids: readonly string[] | undefined,
  written: WrittenTexts,
  one: boolean,
): string | undefined {
  if (!ids) return undefined
  const texts = ids.map((id) => writeRecord(graph, to, id, written)).filter((text) => text !== undefined)
  if (texts.length === 0 && (one || ids.length > 0)) return undefined
  return one ? texts[0] : `[${texts.join(',')}]`
}

function writeReferences(shown: readonly RecordReference[], { title: titleName }: Reference): string | undefined {
  if (shown.length === 0) return undefined
  // JSON.stringify omits undefined members.
  return JSON.stringify(
    shown.map(({ id, slug, title }) => ({ id, slug: slug ?? undefined, [titleName]: title ?? undefined })),
  )
}
