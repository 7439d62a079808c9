// Brings a file of labels into the registry (behaviour/explorer.md#label-imports): good records in one transaction, bad ones told with their
// line and what is wrong.
//
// 1. All good records go in together, or none does.
// 2. The same file again changes nothing: a record says what to set, and two records that say different things about the
//    same row are not both taken.
import { Fault } from '#core/fault.ts'
import type { State } from '#storage/state.ts'
import { type Author, HistoryWriter } from '../history.ts'
import { type LabelPatch, putLabels } from '../labels.ts'
import { findUnknownFields, isTag, type RecordDefaults, toEntityPatches, toTagPatches } from '../parse-record.ts'
import { putTags, type RefusedTag, type TagPatch } from '../tags.ts'
import type { Counts } from '../write-rows.ts'
import { convertOpenLabels, oliArrays } from './open-labels.ts'
import { type ImportedRecord, readCsv } from './read-csv.ts'
import { readJson } from './read-json.ts'
import { nothingWritten, stagedRecordsMin, type WriteResult, writeStaged } from './staging.ts'

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

export interface ImportReport {
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

interface SortedRecords {
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
): Promise<ImportReport> {
  const sorted = sortRecords(readRecords(text, options), options)
  const { entities, tags, rejects, lineOf } = sorted
  const accepts = (refused: readonly RefusedTag[]) => !(options.strict && rejects.length + refused.length > 0)
  const write = entities.length + tags.length < stagedRecordsMin ? writeInOneTransaction : writeLarge
  // Also where it is clear that nothing will be taken: every bad record is told at once.
  const { refused, ...result } = await write(state, author, sorted, accepts)
  for (const { patch, reason } of refused) rejects.push(toReject(lineOf.get(patch), reason))
  const chains = new Set<string>()
  for (const patches of [entities, tags]) for (const { chain } of patches) chains.add(chain)
  return { ...result, chains: [...chains], rejects: rejects.sort((a, b) => a.line - b.line) }
}

type AcceptImport = (refused: readonly RefusedTag[]) => boolean

/** In one transaction from the beginning. */
async function writeInOneTransaction(
  state: State,
  author: Author,
  { entities, tags }: SortedRecords,
  accepts: AcceptImport,
): Promise<WriteResult> {
  let refused: readonly RefusedTag[] = []
  try {
    return await state.write(async (tx) => {
      const history = new HistoryWriter(tx, author)
      const counts = await putLabels(history, entities)
      const put = await putTags(history, tags)
      refused = put.refused
      if (!accepts(refused)) throw new ImportRolledBack()
      return { entities: counts, addresses: put.counts, refused, done: true }
    })
  } catch (error) {
    if (!(error instanceof ImportRolledBack)) throw error
    return { ...nothingWritten, refused }
  }
}

/** While others keep changing the registry, there is only the one transaction that keeps them out. */
async function writeLarge(
  state: State,
  author: Author,
  sorted: SortedRecords,
  accepts: AcceptImport,
): Promise<WriteResult> {
  return (await writeStaged(state, author, sorted, accepts)) ?? writeInOneTransaction(state, author, sorted, accepts)
}

/** Takes a strict import's transaction back. */
class ImportRolledBack extends Error {}

function readRecords(text: string, { form, source, everyChain }: ImportOptions): Iterable<ImportedRecord> {
  if (form === 'csv') {
    const { names, records } = readCsv(text)
    validateColumns(names)
    return records
  }
  if (form === 'json') return readJson(text, ['entities', 'addresses'], 'refused')
  const records = /^\uFEFF?\s*[[{]/.test(text) ? readJson(text, oliArrays) : readCsv(text).records
  return convertOpenLabels(records, { source, everyChain })
}

/** A misspelt column would be lost in every line, so it is a fault of the file. */
function validateColumns(names: readonly string[]): void {
  const [unknownColumn] = findUnknownFields(names, isTag(Object.fromEntries(names.map((name) => [name, '']))))
  const message =
    names.length === 0 || names[0] === ''
      ? 'the file has no header line with the names of its columns'
      : `column ${unknownColumn} is not known; see docs/labels.md for the columns`
  if (unknownColumn !== undefined || names.length === 0) throw new Fault('input.invalid', { message })
}

function sortRecords(records: Iterable<ImportedRecord>, options: ImportOptions): SortedRecords {
  const sorted: SortedRecords = { entities: [], tags: [], rejects: [], lineOf: new Map() }
  const seen = new Map<string, { readonly line: number; readonly words: string }>()
  let count = 0
  for (const imported of records) {
    count += 1
    if (count > recordsMax) throw tooManyRecords()
    const reason = imported.record
      ? acceptRecord(sorted, seen, imported, options)
      : (imported.reason ?? 'cannot be read')
    if (reason !== undefined) sorted.rejects.push(toReject(imported, reason))
  }
  return sorted
}

/** Says what is wrong with the record, if anything. */
function acceptRecord(
  sorted: SortedRecords,
  seen: Map<string, { readonly line: number; readonly words: string }>,
  imported: ImportedRecord,
  options: ImportOptions,
): string | undefined {
  const record = imported.record ?? {}
  // What a list is called says what is in it; also of a record that lacks the very thing.
  const tag = options.form === 'json' && imported.list !== undefined ? imported.list === 'addresses' : isTag(record)
  const patches = tag ? toTagPatches(record, options) : toEntityPatches(record, options)
  if ('reason' in patches) return patches.reason
  const keyed = patches.map((patch) => ({ patch, key: patchKey(patch), words: JSON.stringify(patch) }))
  for (const { key, words: json } of keyed) {
    const before = seen.get(key)
    if (before && before.words !== json) return `line ${before.line} says something else about the same row`
  }
  for (const { patch, key, words: json } of keyed) {
    if (seen.has(key)) continue
    seen.set(key, { line: imported.line, words: json })
    if (!('address' in patch)) sorted.entities.push(patch)
    else {
      sorted.tags.push(patch)
      sorted.lineOf.set(patch, imported)
      if (options.form === 'oli' && patch.entity) addOwner(sorted, seen, patch)
    }
  }
  return undefined
}

/** Their owners are not described anywhere: an owner who is not in the registry yet enters it by name alone. */
function addOwner(
  sorted: SortedRecords,
  seen: Map<string, { line: number; words: string }>,
  { chain, entity }: TagPatch,
): void {
  const key = `${chain}/${entity}`
  if (!entity || seen.has(key)) return
  seen.set(key, { line: 0, words: '' })
  sorted.entities.push({ chain, slug: entity })
}

const patchKey = (patch: LabelPatch | TagPatch): string =>
  'address' in patch ? `${patch.chain}/${patch.address}/${patch.source}` : `${patch.chain}/${patch.slug}`

const toReject = (imported: ImportedRecord | undefined, reason: string): Reject => ({
  line: imported?.line ?? 0,
  reason,
  raw: (imported?.raw ?? '').slice(0, rawCharsMax),
})

function tooManyRecords(): Fault {
  const message = `the file holds more than ${recordsMax} records; split it`
  return new Fault('input.invalid', { message })
}
