// Converts records of other tools into records of labels (behaviour/explorer.md#labels-of-other-tools): chosen columns, the
// address tags of the original API and its export, public sets, and lists of addresses that have no names.
import { type RawRecord, toSlug } from '../parse-record.ts'
import type { ImportedRecord } from './read-csv.ts'

export interface Conversion {
  /** By field of a label: the name of its column or member in the file. Others are ignored. */
  readonly columns?: ReadonlyMap<string, string>
  /** Name of addresses without one. */
  readonly name?: string
  /** Slug of the entity of addresses without one. */
  readonly entity?: string
}

/** Members of an address tag that labels do not have. */
const ignoredFields = new Set([
  ...['internal_nametag', 'url', 'shortdescription', 'notes_1', 'notes_2', 'labels', 'labels_slug', 'label'],
  ...['reputation', 'other_attributes'],
])

/** Whether the names of its fields are those of another tool. */
export const isForeign = (names: readonly string[]): boolean =>
  names.some((name) => ['labels', 'labels_slug', 'label'].includes(name.toLowerCase())) && hasAddress(names)

const hasAddress = (names: readonly string[]): boolean => names.some((name) => name.toLowerCase() === 'address')

export function* convertRecords(records: Iterable<ImportedRecord>, conversion: Conversion): Generator<ImportedRecord> {
  for (const imported of records)
    yield imported.record ? { ...imported, record: convertRecord(imported.record, conversion) } : imported
}

function convertRecord(given: RawRecord, { columns, name, entity }: Conversion): RawRecord {
  const record = columns ? selectColumns(given, columns) : given
  const names = Object.keys(record)
  if (!hasAddress(names)) return record
  const converted = isForeign(names) ? convertTag(record) : columns ? withSlug(record) : record
  const ownName = textOf(fieldOf(converted, 'name')) || textOf(fieldOf(converted, 'nametag'))
  const ownEntity = textOf(fieldOf(converted, 'entity')) || entity
  // Public sets have addresses that only have a label.
  const shownName = ownName || name || (converted !== given || entity !== undefined ? ownEntity : undefined)
  const replaced = new Set([
    ...(ownName === '' && shownName ? ['name', 'nametag'] : []),
    ...(ownEntity ? ['entity'] : []),
  ])
  return {
    ...Object.fromEntries(Object.entries(converted).filter(([field]) => !replaced.has(field.toLowerCase()))),
    ...(ownName === '' && shownName && { name: shownName }),
    ...(ownEntity && { entity: ownEntity }),
  }
}

const fieldOf = (record: RawRecord, field: string): unknown =>
  Object.entries(record).find(([name]) => name.toLowerCase() === field)?.[1]

const textOf = (value: unknown): string => (typeof value === 'string' ? value.trim() : '')

function selectColumns(record: RawRecord, columns: ReadonlyMap<string, string>): RawRecord {
  return Object.fromEntries(Array.from(columns, ([field, column]) => [field, record[column]] as const))
}

/** The first label is the entity. */
function convertTag(record: RawRecord): RawRecord {
  const first = ['labels_slug', 'labels', 'label'].map((field) => firstText(fieldOf(record, field)))
  const kept = Object.entries(record).filter(([name]) => !ignoredFields.has(name.toLowerCase()))
  const entity = first.find((text) => text !== '')
  return { ...Object.fromEntries(kept), ...(entity !== undefined && { entity: toSlug(entity) }) }
}

/** Of a list, or of a text in which commas separate values. */
const firstText = (value: unknown): string =>
  (Array.isArray(value) ? textOf(value[0]) : textOf(value)).split(/[,;|]/, 1)[0]?.trim() ?? ''

/** Tools write the name of an entity where Tetrad has its slug. */
function withSlug(record: RawRecord): RawRecord {
  const entity = textOf(record.entity)
  return entity === '' ? record : { ...record, entity: toSlug(entity) }
}
