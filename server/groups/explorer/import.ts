// Brings a file of labels into the registry (decision 0094): good records in one transaction, bad ones told with their
// line and what is wrong.
//
// 1. All good records go in together, or none does.
// 2. The same file again changes nothing: a record says what to set, and two records that say different things about the
//    same row are not both taken.
import { Fault } from '#core/fault.ts'
import type { State } from '#store/state.ts'
import { type ImportedRecord, readCsv } from './import-csv.ts'
import { readJson } from './import-json.ts'
import { fromOli, oliArrays } from './import-oli.ts'
import { nothingPut, type Put, putStaged, stagedFrom } from './import-stage.ts'
import { type LabelPatch, putLabels } from './labels.ts'
import { entityPatches, isTag, type RecordDefaults, strangeNames, tagPatches } from './labels-check.ts'
import { type Author, Book } from './labels-history.ts'
import type { Counts } from './labels-put.ts'
import { putTags, type RefusedTag, type TagPatch } from './tags.ts'

const importForms = ['csv', 'json', 'oli'] as const
export type ImportForm = (typeof importForms)[number]

export interface ImportOptions extends RecordDefaults {
  readonly form: ImportForm
  /** Chains that a label for "any chain" stands for. */
  readonly everyChain: readonly string[]
  /** One bad record keeps all others out. */
  readonly strict?: boolean
}

export interface Reject {
  readonly line: number
  readonly reason: string
  /** The record as it stood in the file, cut where it is very long. */
  readonly raw: string
}

export interface Imported {
  readonly entities: Counts
  readonly addresses: Counts
  /** Chains of the records that were good. */
  readonly chains: readonly string[]
  /** By line. */
  readonly rejects: readonly Reject[]
  /** False when a strict import met a bad record: nothing was written. */
  readonly done: boolean
}

export const recordsMax = 1_000_000
const rawCharsMax = 2000

interface Sorted {
  readonly entities: LabelPatch[]
  readonly tags: TagPatch[]
  readonly rejects: Reject[]
  readonly lineOf: Map<TagPatch, ImportedRecord>
}

export async function importLabels(
  state: State,
  author: Author,
  text: string,
  options: ImportOptions,
): Promise<Imported> {
  const sorted = sort(read(text, options), options)
  const { entities, tags, rejects, lineOf } = sorted
  const wanted = (refused: readonly RefusedTag[]) => !(options.strict && rejects.length + refused.length > 0)
  const put = entities.length + tags.length < stagedFrom ? putAtOnce : putLarge
  // Also where it is clear that nothing will be taken: every bad record is told at once.
  const { refused, ...result } = await put(state, author, sorted, wanted)
  for (const { patch, reason } of refused) rejects.push(rejectOf(lineOf.get(patch), reason))
  const chains = new Set<string>()
  for (const patches of [entities, tags]) for (const { chain } of patches) chains.add(chain)
  return { ...result, chains: [...chains], rejects: rejects.sort((a, b) => a.line - b.line) }
}

type Wanted = (refused: readonly RefusedTag[]) => boolean

/** In one transaction from the beginning. */
async function putAtOnce(state: State, author: Author, { entities, tags }: Sorted, wanted: Wanted): Promise<Put> {
  let refused: readonly RefusedTag[] = []
  try {
    return await state.write(async (tx) => {
      const book = new Book(tx, author)
      const counts = await putLabels(book, entities)
      const put = await putTags(book, tags)
      refused = put.refused
      if (!wanted(refused)) throw new NothingWritten()
      return { entities: counts, addresses: put.counts, refused, done: true }
    })
  } catch (error) {
    if (!(error instanceof NothingWritten)) throw error
    return { ...nothingPut, refused }
  }
}

/** While others keep changing the registry, there is only the one transaction that keeps them out. */
async function putLarge(state: State, author: Author, sorted: Sorted, wanted: Wanted): Promise<Put> {
  return (await putStaged(state, author, sorted, wanted)) ?? putAtOnce(state, author, sorted, wanted)
}

/** Takes a strict import's transaction back. */
class NothingWritten extends Error {}

function read(text: string, { form, source, everyChain }: ImportOptions): Iterable<ImportedRecord> {
  if (form === 'csv') {
    const { names, records } = readCsv(text)
    knowNames(names)
    return records
  }
  if (form === 'json') return readJson(text, ['entities', 'addresses'], 'refused')
  const records = /^\uFEFF?\s*[[{]/.test(text) ? readJson(text, oliArrays) : readCsv(text).records
  return fromOli(records, { source, everyChain })
}

/** A misspelt column would be lost in every line, so it is a fault of the file. */
function knowNames(names: readonly string[]): void {
  const [strange] = strangeNames(names, isTag(Object.fromEntries(names.map((name) => [name, '']))))
  const says =
    names.length === 0 || names[0] === ''
      ? 'the file has no header line with the names of its columns'
      : `column ${strange} is not known; see docs/labels.md for the columns`
  if (strange !== undefined || names.length === 0) throw new Fault('input.invalid', { says })
}

function sort(records: Iterable<ImportedRecord>, options: ImportOptions): Sorted {
  const sorted: Sorted = { entities: [], tags: [], rejects: [], lineOf: new Map() }
  const said = new Map<string, { readonly line: number; readonly words: string }>()
  let count = 0
  for (const imported of records) {
    count += 1
    if (count > recordsMax) throw tooMany()
    const reason = imported.record ? take(sorted, said, imported, options) : (imported.reason ?? 'cannot be read')
    if (reason !== undefined) sorted.rejects.push(rejectOf(imported, reason))
  }
  return sorted
}

/** Says what is wrong with the record, if anything. */
function take(
  sorted: Sorted,
  said: Map<string, { readonly line: number; readonly words: string }>,
  imported: ImportedRecord,
  options: ImportOptions,
): string | undefined {
  const record = imported.record ?? {}
  // What a list is called says what is in it; also of a record that lacks the very thing.
  const tag = options.form === 'json' && imported.list !== undefined ? imported.list === 'addresses' : isTag(record)
  const patches = tag ? tagPatches(record, options) : entityPatches(record, options)
  if ('reason' in patches) return patches.reason
  const named = patches.map((patch) => ({ patch, key: keyOf(patch), words: JSON.stringify(patch) }))
  for (const { key, words } of named) {
    const before = said.get(key)
    if (before && before.words !== words) return `line ${before.line} says something else about the same row`
  }
  for (const { patch, key, words } of named) {
    if (said.has(key)) continue
    said.set(key, { line: imported.line, words })
    if (!('address' in patch)) sorted.entities.push(patch)
    else {
      sorted.tags.push(patch)
      sorted.lineOf.set(patch, imported)
      if (options.form === 'oli' && patch.entity) ownerOf(sorted, said, patch)
    }
  }
  return undefined
}

/** Their owners are not described anywhere: an owner who is not in the registry yet enters it by name alone. */
function ownerOf(
  sorted: Sorted,
  said: Map<string, { line: number; words: string }>,
  { chain, entity }: TagPatch,
): void {
  const key = `${chain}/${entity}`
  if (!entity || said.has(key)) return
  said.set(key, { line: 0, words: '' })
  sorted.entities.push({ chain, slug: entity })
}

const keyOf = (patch: LabelPatch | TagPatch): string =>
  'address' in patch ? `${patch.chain}/${patch.address}/${patch.source}` : `${patch.chain}/${patch.slug}`

const rejectOf = (imported: ImportedRecord | undefined, reason: string): Reject => ({
  line: imported?.line ?? 0,
  reason,
  raw: (imported?.raw ?? '').slice(0, rawCharsMax),
})

function tooMany(): Fault {
  const says = `the file holds more than ${recordsMax} records; split it`
  return new Fault('input.invalid', { says })
}
