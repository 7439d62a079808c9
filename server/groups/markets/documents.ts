// Writes a market's answer out of its records. Pure: everything it may show has been fetched before.
//
// 1. Fields stand in the order of the contract, so the same records give the same bytes and the same tag.
// 2. The market's own tags stand last, so the answer without them is the same bytes cut short (decision 0043).
// 3. A link to a record that is not there yet shows nothing, and a list of such links is left out.
import { stringifyJson } from '#api/json.ts'
import { etagOf } from '#core/etag.ts'
import { type KindName, kinds, type Reference } from './kinds.ts'

export interface Stored {
  readonly fields: Readonly<Record<string, unknown>>
  readonly links: Readonly<Record<string, readonly string[]>>
}

/** What a reference shows of a record. */
export interface Shown {
  readonly id: string
  readonly slug: string | null
  readonly title: string | null
}

/** The fetched records. */
export interface Library {
  record(kind: KindName, id: string): Stored | undefined
  /** Those that link to this record, in order. */
  referring(reference: Reference, id: string): readonly Shown[]
  /** Every record that was found. */
  names(): (readonly [KindName, string])[]
}

export interface Document {
  readonly body: Uint8Array
  /** Byte at which the tags begin, comma included; -1 without tags. */
  readonly tagsAt: number
  readonly etag: string
}

/** Text of records already written in this run: an event of 300 markets is written once, not 300 times. */
export type Written = Map<string, string | undefined>

export function writeMarket(library: Library, id: string, written: Written): Document | undefined {
  const market = library.record('market', id)
  if (!market) return undefined
  const head = members(library, 'market', id, market, written, (name) => name !== 'tags')
  const tags = members(library, 'market', id, market, written, (name) => name === 'tags')
  const body = Buffer.from(tags === '' ? `{${head}}` : `{${head},${tags}}`)
  return { body, tagsAt: tags === '' ? -1 : Buffer.byteLength(head) + 1, etag: etagOf(body) }
}

/** The answer without the market's own tags. */
export function withoutTags(body: Uint8Array, tagsAt: number): Uint8Array {
  return tagsAt < 0 ? body : Buffer.concat([body.subarray(0, tagsAt), closing])
}
const closing = Buffer.from('}')

function write(library: Library, kind: KindName, id: string, written: Written): string | undefined {
  const name = `${kind}/${id}`
  if (written.has(name)) return written.get(name)
  const record = library.record(kind, id)
  const text = record && `{${members(library, kind, id, record, written, () => true)}}`
  written.set(name, text)
  return text
}

function members(
  library: Library,
  kind: KindName,
  id: string,
  record: Stored,
  written: Written,
  wanted: (name: string) => boolean,
): string {
  const { schema, links, references } = kinds[kind]
  const parts: string[] = []
  for (const name of Object.keys(schema.properties)) {
    if (!wanted(name)) continue
    const link = links[name]
    const reference = references[name]
    const text = link
      ? linked(library, link.to, record.links[name], written, link.one === true)
      : reference
        ? referred(library.referring(reference, id), reference)
        : record.fields[name] === undefined
          ? undefined
          : stringifyJson(record.fields[name])
    if (text !== undefined) parts.push(`"${name}":${text}`)
  }
  return parts.join(',')
}

function linked(
  library: Library,
  to: KindName,
  ids: readonly string[] | undefined,
  written: Written,
  one: boolean,
): string | undefined {
  if (!ids) return undefined
  const texts = ids.map((id) => write(library, to, id, written)).filter((text) => text !== undefined)
  if (texts.length === 0 && (one || ids.length > 0)) return undefined
  return one ? texts[0] : `[${texts.join(',')}]`
}

function referred(shown: readonly Shown[], { title: titleName }: Reference): string | undefined {
  if (shown.length === 0) return undefined
  // A member that is undefined is left out.
  return JSON.stringify(
    shown.map(({ id, slug, title }) => ({ id, slug: slug ?? undefined, [titleName]: title ?? undefined })),
  )
}
