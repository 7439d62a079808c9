// Writes the label registry as CSV or JSON, in chunks, in a form that `tetrad labels import` reads back unchanged. The
// download files of 4.1 have less: only the entities of one chain (lists/downloads.ts).
import type { State } from '#storage/state.ts'
import { eachLabel, type Label } from './labels.ts'
import { csvRow, spreadsheetRow } from './lists/csv.ts'
import { eachTag, type Tag } from './tags.ts'

export type ExportPart = 'entities' | 'addresses' | 'all'

export interface ExportScope {
  readonly part: ExportPart
  readonly chain?: string | undefined
}

const anyLabel = 'select 1 from labels where chain = ? union all select 1 from tagged_addresses where chain = ? limit 1'
export const hasLabels = async (state: State, chain: string) => (await state.get(anyLabel, chain, chain)) !== undefined

/** A CSV file has one table, so it cannot contain all parts. One for spreadsheets cannot be imported unchanged. */
export async function* csvExport(
  state: State,
  { part, chain }: ExportScope & { readonly part: Exclude<ExportPart, 'all'> },
  forSpreadsheets = false,
): AsyncGenerator<string> {
  const toRow = forSpreadsheets ? spreadsheetRow : csvRow
  if (part === 'entities') {
    yield csvRow(['chain', 'slug', 'name', 'description', 'notes', 'updated'])
    for await (const row of eachLabel(state, chain)) {
      yield toRow([row.chain, row.slug, row.name, row.description, row.notes, row.updatedUnix])
    }
    return
  }
  yield csvRow(['chain', 'address', 'name', 'entity', 'source', 'confidence', 'evidence', 'updated'])
  for await (const tag of eachTag(state, chain)) {
    const { address, name, entity, source, confidence, evidenceUrl, updatedUnix } = tag
    yield toRow([tag.chain, address, name, entity, source, confidence, evidenceUrl, updatedUnix])
  }
}

export async function* jsonExport(state: State, { part, chain }: ExportScope): AsyncGenerator<string> {
  yield '{'
  if (part !== 'addresses') yield* jsonArray('entities', groupEntities(state, chain), toEntityRecord)
  if (part === 'all') yield ','
  if (part !== 'entities') yield* jsonArray('addresses', eachTag(state, chain), toAddressRecord)
  yield '\n}\n'
}

type EntityGroup = { readonly row: Label; readonly chains: string[] }

/** Rows of a slug with the same texts become one record with several chains. */
async function* groupEntities(state: State, chain: string | undefined): AsyncGenerator<EntityGroup> {
  let group: EntityGroup[] = []
  for await (const row of eachLabel(state, chain)) {
    if (group[0]?.row.slug !== row.slug) {
      yield* group
      group = []
    }
    const same = group.find((member) => hasSameText(member.row, row))
    if (same) same.chains.push(row.chain)
    else group.push({ row, chains: [row.chain] })
  }
  yield* group
}

const hasSameText = (a: Label, b: Label): boolean =>
  (['name', 'description', 'notes', 'updatedUnix'] as const).every((field) => a[field] === b[field])

const toEntityRecord = ({ row, chains }: EntityGroup): object => ({
  slug: row.slug,
  name: row.name,
  description: row.description,
  notes: row.notes,
  chains,
  updated: row.updatedUnix,
})

const toAddressRecord = (tag: Tag): object => ({
  chain: tag.chain,
  address: tag.address,
  name: tag.name,
  entity: tag.entity,
  source: tag.source,
  confidence: tag.confidence,
  evidence: tag.evidenceUrl,
  updated: tag.updatedUnix,
})

/** One record per line. */
async function* jsonArray<T>(
  name: string,
  rows: AsyncIterable<T>,
  toRecord: (row: T) => object,
): AsyncGenerator<string> {
  yield `\n"${name}":[`
  let separator = '\n'
  for await (const row of rows) {
    yield separator + JSON.stringify(toRecord(row))
    separator = ',\n'
  }
  yield '\n]'
}
