// Imports a file of labels (behaviour/explorer.md#label-imports). Good records are written in one transaction; bad ones
// are reported with line and reason.
//
// 1. Either all good records are written or none.
// 2. Importing the same file again changes nothing. Of two records with different values for one row, the second is
//    rejected.
import { Fault } from '#core/fault.ts'
import type { State } from '#storage/state.ts'
import { type Author, HistoryWriter } from '../history.ts'
import { type LabelPatch, putLabels } from '../labels.ts'
import { findUnknownFields, isTag, type RecordDefaults, toEntityPatches, toTagPatches } from '../parse-record.ts'
import { putTags, type TagPatch } from '../tags.ts'
import type { Counts } from '../write-rows.ts'
import { type Conversion, convertRecords, isForeign } from './convert-records.ts'
import { convertOpenLabels, oliArrays } from './open-labels.ts'
import { type ImportedRecord, readCsv } from './read-csv.ts'
import { readJson } from './read-json.ts'
import { type ImportProgress, stagedRecordsMin, type WriteResult, writeStaged } from './staging.ts'

/** `addresses`: one address per line. */
export type ImportFormat = 'csv' | 'json' | 'oli' | 'addresses'

export interface ImportOptions extends RecordDefaults, Conversion {
  readonly format: ImportFormat
  /** Adds missing entities of addresses. OLI files always do. */
  readonly createsEntities?: boolean
  /** Chains of a label for "any chain". */
  readonly everyChain: readonly string[]
  /** Of a large import. */
  readonly progress?: ImportProgress
}

export interface Reject {
  readonly line: number
  /** Where the record begins in its line, from 1. */
  readonly column: number
  readonly reason: string
  /** The record in the file, truncated if it is very long. */
  readonly raw: string
}

export interface ImportReport {
  readonly entities: Counts
  readonly addresses: Counts
  /** Chains of the good records. */
  readonly chains: readonly string[]
  /** By line and column. */
  readonly rejects: readonly Reject[]
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
  const isLarge = entities.length + tags.length >= stagedRecordsMin
  // If the registry keeps changing during staging, nothing was written.
  const staged = isLarge ? await writeStaged(state, author, sorted, options.progress) : undefined
  const { rejected, ...result } = staged ?? (await writeInOneTransaction(state, author, sorted))
  for (const { patch, reason } of rejected) rejects.push(toReject(lineOf.get(patch), reason))
  const chains = new Set<string>()
  for (const patches of [entities, tags]) for (const { chain } of patches) chains.add(chain)
  return { ...result, chains: [...chains], rejects: rejects.sort((a, b) => a.line - b.line || a.column - b.column) }
}

async function writeInOneTransaction(
  state: State,
  author: Author,
  { entities, tags }: SortedRecords,
): Promise<WriteResult> {
  return state.write(
    async (tx) => {
      const history = new HistoryWriter(tx, author)
      const counts = await putLabels(history, entities)
      const { counts: addresses, rejected } = await putTags(history, tags)
      return { entities: counts, addresses, rejected }
    },
    { lock: 'labels' },
  )
}

function readRecords(text: string, options: ImportOptions): Iterable<ImportedRecord> {
  const { format, source, everyChain, columns } = options
  if (format === 'oli') {
    const records = /^\uFEFF?\s*[[{]/.test(text) ? readJson(text, oliArrays) : readCsv(text).records
    return convertOpenLabels(records, { source, everyChain })
  }
  if (format === 'addresses') return convertRecords(readAddresses(text), options)
  if (format === 'json') return convertRecords(readJson(text, ['entities', 'addresses', 'result'], 'reject'), options)
  const { names, records } = readCsv(text)
  if (columns) validateSelection(names, columns)
  else if (!isForeign(names)) validateColumns(names)
  return convertRecords(records, options)
}

/** Lines without an address, such as a header, are rejected. A comment begins with #. */
function* readAddresses(text: string): Generator<ImportedRecord> {
  for (const [at, raw] of text
    .replace(/^\uFEFF/, '')
    .split(/\r\n|\r|\n/)
    .entries()) {
    const address = raw.replace(/#.*/, '').trim()
    if (address !== '') yield { line: at + 1, raw, record: { address } }
  }
}

function validateSelection(names: readonly string[], columns: ReadonlyMap<string, string>): void {
  const missing = columns.values().find((column) => !names.includes(column))
  if (missing === undefined) return
  const message = `the file has no column ${missing}; its columns are ${names.join(', ')}`
  throw new Fault('input.invalid', { message })
}

/** A misspelt column would be lost in every record, so the whole file is rejected. */
function validateColumns(names: readonly string[]): void {
  const [unknownColumn] = findUnknownFields(names, isTag(Object.fromEntries(names.map((name) => [name, '']))))
  const message =
    names.length === 0 || names[0] === ''
      ? 'the file has no header line with the names of its columns'
      : `unknown column ${unknownColumn}; /docs/labels of a server lists the columns`
  if (unknownColumn !== undefined || names.length === 0) throw new Fault('input.invalid', { message })
}

function sortRecords(records: Iterable<ImportedRecord>, options: ImportOptions): SortedRecords {
  const sorted: SortedRecords = { entities: [], tags: [], rejects: [], lineOf: new Map() }
  const seen: SeenRows = new Map()
  let count = 0
  for (const imported of records) {
    count += 1
    if (count > recordsMax)
      throw new Fault('input.invalid', { message: `the file has more than ${recordsMax} records; split it` })
    const reason = imported.record
      ? acceptRecord(sorted, seen, imported, options)
      : (imported.reason ?? 'invalid record')
    if (reason !== undefined) sorted.rejects.push(toReject(imported, reason))
  }
  return sorted
}

/** By key of the row. */
type SeenRows = Map<string, Pick<ImportedRecord, 'line' | 'column'> & { readonly json: string }>

/** Returns the reason if the record is rejected. */
function acceptRecord(
  sorted: SortedRecords,
  seen: SeenRows,
  imported: ImportedRecord,
  options: ImportOptions,
): string | undefined {
  const { record = {}, line, column } = imported
  // The list determines the kind, so that a record without an address in `addresses` is rejected.
  const hasKind = options.format === 'json' && imported.list !== undefined && imported.list !== 'result'
  const tag = hasKind ? imported.list === 'addresses' : isTag(record)
  const patches = tag ? toTagPatches(record, options) : toEntityPatches(record, options)
  if ('reason' in patches) return patches.reason
  const keyed = patches.map((patch) => ({ patch, key: patchKey(patch), json: JSON.stringify(patch) }))
  for (const { key, json } of keyed) {
    const before = seen.get(key)
    if (before && before.json !== json) return `conflicts with line ${before.line}${columnText(before.column)}`
  }
  for (const { patch, key, json } of keyed) {
    if (seen.has(key)) continue
    seen.set(key, { line, ...(column !== undefined && { column }), json })
    if (!('address' in patch)) sorted.entities.push(patch)
    else {
      sorted.tags.push(patch)
      sorted.lineOf.set(patch, imported)
      if ((options.format === 'oli' || options.createsEntities) && patch.entity) addOwner(sorted, seen, patch)
    }
  }
  return undefined
}

/** The file does not describe these entities, so an unknown one is added with its slug only. */
function addOwner(sorted: SortedRecords, seen: SeenRows, { chain, entity }: TagPatch): void {
  const key = `${chain}/${entity}`
  if (!entity || seen.has(key)) return
  seen.set(key, { line: 0, json: '' })
  sorted.entities.push({ chain, slug: entity })
}

const patchKey = (patch: LabelPatch | TagPatch): string =>
  'address' in patch ? `${patch.chain}/${patch.address}/${patch.source}` : `${patch.chain}/${patch.slug}`

const columnText = (column: number | undefined): string => (column === undefined ? '' : `, column ${column}`)

const toReject = (imported: ImportedRecord | undefined, reason: string): Reject => ({
  line: imported?.line ?? 0,
  column: imported?.column ?? 1,
  reason,
  raw: (imported?.raw ?? '').slice(0, rawCharsMax),
})
