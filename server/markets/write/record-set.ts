// The stored records of a batch: read with one query, changed in memory, and written with one statement per table.
import type { StateWriter } from '#storage/state.ts'
import { slugRanks } from '../read/slug-precedence.ts'
import type { StoredRecord } from '../records/documents.ts'
import { type KindName, kinds } from '../records/kinds.ts'
import { linkTargets, parseStoredRecord, type RecordName } from '../records/record-graph.ts'
import { findReferenceHolders, type RecordChange } from './affected.ts'
import { ValueSet } from './value-set.ts'

export interface RecordRow {
  readonly slug: string | null
  readonly title: string | null
  /** Without the fast ones. */
  readonly fields: string
  readonly links: string
  readonly extra_fields: string | null
  readonly changes_since_snapshot: number
  readonly changed_ms: number
  /** Null for kinds without fast fields. */
  readonly number: number | null
}

/** A record, with its fast values, and its row. */
export interface RowOfRecord {
  readonly row: RecordRow
  readonly record: StoredRecord
}

interface Entry {
  readonly kind: KindName
  readonly id: string
  readonly stored: RowOfRecord | undefined
  current: RowOfRecord | undefined
}

interface Slug {
  rank: number
  readonly storedRank: number | undefined
  readonly sinceSeq: number
}

/** Columns that most changes do not change: then their indexes are not written either. */
const rareColumns: readonly (keyof RecordRow)[] = ['slug', 'title', 'links', 'extra_fields', 'number']

const rowColumns = [
  ...['slug', 'title', 'fields', 'links', 'extra_fields', 'changes_since_snapshot', 'changed_ms', 'number'],
] as readonly (keyof RecordRow)[]
const linkColumns = ['to_kind', 'to_id', 'from_kind', 'from_id'] as const
const addLinks = `on conflict (${linkColumns.join(', ')}) do nothing`

export class RecordSet {
  readonly #entries = new Map<string, Entry>()
  /** By market, then by slug. */
  readonly #slugs = new Map<string, Map<string, Slug>>()
  readonly #formerLinks = new Map<string, readonly string[]>()
  readonly values: ValueSet
  #nextNumber: number

  private constructor(values: ValueSet, nextNumber: number) {
    this.values = values
    this.#nextNumber = nextNumber
  }

  /** `numbers`: of the records of which only fast values are needed. */
  static async read(
    tx: StateWriter,
    names: readonly RecordName[],
    numbers: readonly number[],
    takeBlocks?: Parameters<typeof ValueSet.read>[2],
  ): Promise<RecordSet> {
    const rows = await tx.all<RecordRow & { kind: KindName; id: string }>(
      `select r.kind, r.id, ${rowColumns.map((column) => `r.${column}`).join(', ')} from json_each(?) as k
       join market_records r on r.kind = k.value ->> 0 and r.id = k.value ->> 1`,
      JSON.stringify(names),
    )
    const last = rows.length === names.length ? undefined : await readLastNumber(tx)
    const nextNumber = (last ?? -1) + 1
    const all = [...numbers, ...rows.flatMap(({ number }) => number ?? []), ...(last === undefined ? [] : [nextNumber])]
    const values = await ValueSet.read(tx, all, takeBlocks)
    const set = new RecordSet(values, nextNumber)
    for (const { kind, id, ...row } of rows) {
      const { fields, links } = parseStoredRecord(row)
      const fast = row.number === null ? {} : values.get(row.number)
      const stored = { row, record: { fields: { ...fields, ...fast }, links } }
      set.#entries.set(`${kind}/${id}`, { kind, id, stored, current: stored })
    }
    const marketIds = rows.filter(({ kind }) => kind === 'market').map(({ id }) => id)
    if (marketIds.length > 0) await set.#readSlugs(tx, marketIds)
    return set
  }

  async #readSlugs(tx: StateWriter, marketIds: readonly string[]): Promise<void> {
    const rows = await tx.all<{ slug: string; id: string; rank: number }>(
      'select slug, market_id as id, rank from market_slugs where market_id in (select atom from json_each(?))',
      JSON.stringify(marketIds),
    )
    for (const { slug, id, rank } of rows) this.#slugsOf(id).set(slug, { rank, storedRank: rank, sinceSeq: 0 })
  }

  readonly #slugsOf = (marketId: string): Map<string, Slug> =>
    this.#slugs.getOrInsertComputed(marketId, () => new Map())

  takeNumber(): number {
    return this.#nextNumber++
  }

  get(kind: KindName, id: string): RowOfRecord | undefined {
    return this.#entries.get(`${kind}/${id}`)?.current
  }

  put(kind: KindName, id: string, next: RowOfRecord): void {
    const entry = this.#entries.getOrInsertComputed(`${kind}/${id}`, () => {
      return { kind, id, stored: undefined, current: undefined }
    })
    this.#noteFormerLinks(kind, id, entry.current?.record.links ?? {}, next.record.links)
    entry.current = next
  }

  /** Links that other records show, and that this one no longer has. */
  #noteFormerLinks(kind: KindName, id: string, before: StoredRecord['links'], now: StoredRecord['links']): void {
    const through = kinds[kind].shownThrough ?? ''
    const to = kinds[kind].links[through]?.to
    if (!to) return
    for (const target of before[through] ?? [])
      if (!now[through]?.includes(target)) this.#formerLinks.set(`${to}/${target}<${id}`, [to, target, kind, id])
  }

  /** A market keeps its earlier slugs, even if the source does not list them (behaviour/markets.md#past-slugs). */
  putSlugs(id: string, slug: string | null, past: readonly string[], seq: number): void {
    const slugs = this.#slugsOf(id)
    const put = (name: string, rank: number) => {
      slugs.getOrInsertComputed(name, () => ({ rank, storedRank: undefined, sinceSeq: seq })).rank = rank
    }
    for (const earlier of slugs.keys()) put(earlier, slugRanks.former)
    for (const listed of past) put(listed, slugRanks.listed)
    if (slug !== null) put(slug, slugRanks.present)
  }

  /** What differs from the stored records. */
  changed(): RecordChange[] {
    return [...this.#entries.values()].flatMap(({ current, stored, ...name }) =>
      current && current !== stored ? [{ ...name, current, stored }] : [],
    )
  }

  /** Those of which not only fast values differ. */
  changes(): readonly RecordChange[] {
    const isSlow = ({ current, stored }: RecordChange) =>
      rowColumns.some((column) => current.row[column] !== stored?.row[column])
    return this.changed().filter(isSlow)
  }

  async write(tx: StateWriter, changed: readonly RecordChange[], atMs: number): Promise<void> {
    await writeRows(tx, changed, atMs)
    const holders = new Map(changed.flatMap(findReferenceHolders).map((name) => [name.join('/'), name]))
    const holderRows = [...holders.values()].map((name) => [...name, atMs])
    await tx.updateMany('market_records', ['kind', 'id'], ['changed_ms'], holderRows)
    const links = changed.map(({ kind, id, current, stored }) => {
      const before = linkTargets(kind, stored?.record.links ?? {})
      const now = linkTargets(kind, current.record.links)
      const rowsOf = (targets: ReadonlyMap<string, RecordName>, others: ReadonlyMap<string, RecordName>) =>
        [...targets].flatMap(([name, target]) => (others.has(name) ? [] : [[...target, kind, id]]))
      return { removed: rowsOf(before, now), added: rowsOf(now, before) }
    })
    await tx.deleteMany(
      'market_links',
      linkColumns,
      links.flatMap(({ removed }) => removed),
    )
    await tx.insertMany(
      'market_links',
      linkColumns,
      links.flatMap(({ added }) => added),
      addLinks,
    )
    await tx.insertMany('market_former_links', linkColumns, [...this.#formerLinks.values()], addLinks)
    await this.#writeSlugs(tx)
  }

  async #writeSlugs(tx: StateWriter): Promise<void> {
    const rows = [...this.#slugs].flatMap(([id, slugs]) =>
      [...slugs].flatMap(([slug, { rank, storedRank, sinceSeq }]) =>
        rank === storedRank ? [] : [[slug, id, rank, sinceSeq]],
      ),
    )
    const setRank = 'on conflict (slug, market_id) do update set rank = excluded.rank'
    await tx.insertMany('market_slugs', ['slug', 'market_id', 'rank', 'since_seq'], rows, setRank)
  }
}

async function writeRows(tx: StateWriter, changes: readonly RecordChange[], atMs: number): Promise<void> {
  const rows = changes.map(({ kind, id, current, stored }) => {
    const isShown = stored?.row.fields !== current.row.fields || stored.row.links !== current.row.links
    return {
      kind,
      id,
      row: { ...current.row, changed_ms: isShown ? atMs : current.row.changed_ms },
      stored: stored?.row,
    }
  })
  const valuesOf = (columns: readonly (keyof RecordRow)[]) => (one: (typeof rows)[number]) => [
    ...[one.kind, one.id],
    ...columns.map((column) => one.row[column]),
  ]
  const isNew = ({ stored }: (typeof rows)[number]) => stored === undefined
  const isRare = ({ row, stored }: (typeof rows)[number]) => rareColumns.some((name) => stored?.[name] !== row[name])
  const known = rows.filter((one) => !isNew(one))
  const often = rowColumns.filter((column) => !rareColumns.includes(column))
  await tx.insertMany('market_records', ['kind', 'id', ...rowColumns], rows.filter(isNew).map(valuesOf(rowColumns)))
  for (const [part, columns] of [
    [known.filter(isRare), rowColumns],
    [known.filter((one) => !isRare(one)), often],
  ] as const)
    await tx.updateMany('market_records', ['kind', 'id'], columns, part.map(valuesOf(columns)))
}

const readLastNumber = async (tx: StateWriter): Promise<number> =>
  (await tx.get<{ last: number | null }>('select max(place) as last from market_list'))?.last ?? -1
