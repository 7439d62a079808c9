// Recognizes source records of which only fast values differ from the last time, so that they are not even divided into
// records. All other members are compared at once, by a hash of their text.
//
// 1. A source record is recognized if each record that it contains is still known (known-records.ts). This is checked
//    again in the transaction.
// 2. One with a fast value that cannot be used as it is, is not recognized.
// 3. Nor is one with two names for one fast value, or of a feed that gives another meaning to the names of fast values, of ids,
//    or of lists of records with fast values.
import { stringifyJson } from '#api/contract/json.ts'
import type { RenameTable } from '../records/decompose.ts'
import { type KindName, kindNames } from '../records/kinds.ts'
import { type MarketRecord, normalizeRecord } from '../records/normalize.ts'
import { fastFields, hasFastFields } from '../ticks/fast-fields.ts'
import type { Accepted, AcceptedRecord, RecordAcceptor } from './accept-records.ts'
import { hashForm, type KnownRecords } from './known-records.ts'

/** About a kilobyte each. */
const sourcesMax = 200_000

type Members = Record<string, unknown>

/** A record inside a source record, and the fast values that were taken from it. */
interface Part {
  readonly kind: KindName
  readonly members: Members
  /** As the source names them. */
  readonly taken: Members
  readonly fast: Members
  /** The source has one of them under two names. */
  readonly isOdd: boolean
}

/** How a feed names what is read before a source record is divided. */
export class SourceNames {
  /** False: a rename could change where a record has its fast values or the records inside it (rule 3). */
  readonly areUsual: boolean
  /** By kind: names of fast values in the source, and ours. */
  readonly #fastNames: ReadonlyMap<KindName, ReadonlyMap<string, string>>

  constructor(renames: RenameTable = {}) {
    const all = Object.values(renames).flatMap((table) => Object.entries(table))
    this.areUsual = all.every(
      ([source, ours]) => !structuralNames.has(source) && !structuralNames.has(ours) && !fastNames.has(source),
    )
    const namesOf = (kind: KindName) => [
      ...[...fastFields[kind]].map((name) => [name, name] as const),
      ...Object.entries({ ...renames.all, ...renames[kind] }).filter(([, ours]) => fastFields[kind].has(ours)),
    ]
    this.#fastNames = new Map(kindNames.map((kind) => [kind, new Map(namesOf(kind))]))
  }

  take(kind: KindName, members: Members): Part {
    const [taken, fast]: [Members, Members] = [{}, {}]
    let isOdd = false
    for (const [name, ours] of this.#fastNames.get(kind) ?? []) {
      const value = members[name]
      if (value === undefined) continue
      taken[name] = value
      members[name] = undefined
      // A null under another name says nothing (Renames).
      if (value === null && name !== ours) continue
      isOdd ||= fast[ours] !== undefined
      fast[ours] = value
    }
    return { kind, members, taken, fast, isOdd }
  }
}

type Named = Pick<AcceptedRecord, 'kind' | 'id' | 'partial' | 'form'>

interface SourceForm {
  readonly hash: string
  /** The records that it contains, and those of them that have fast values. */
  readonly all: readonly Named[]
  readonly fast: readonly Named[]
}

export class SourceForms {
  readonly #forms = new Map<string, SourceForm>()
  readonly #known: KnownRecords

  constructor(known: KnownRecords) {
    this.#known = known
  }

  /** Accepts a source record of a feed. `divide` divides it into records. */
  accept(
    feed: string,
    kind: KindName,
    names: SourceNames,
    value: unknown,
    acceptor: RecordAcceptor,
    divide: () => readonly MarketRecord[],
  ): Accepted {
    if (!names.areUsual) return acceptor.accept(divide())
    const parts = takeFastValues(names, value, kind)
    const id = parts.at(-1)?.members.id
    const hash = hashForm(stringifyJson(value) ?? '')
    const name = `${feed}/${typeof id === 'object' ? '' : id}`
    const form = this.#forms.get(name)
    const records = () => {
      for (const { members, taken } of parts) Object.assign(members, taken)
      return divide()
    }
    const found = form?.hash === hash ? this.#recognize(form, parts, acceptor, records) : undefined
    if (found) return found
    const divided = records()
    const accepted = acceptor.accept(divided)
    this.#remember(name, hash, parts, divided, acceptor)
    return accepted
  }

  #recognize(
    { all, fast: named }: SourceForm,
    parts: readonly Part[],
    acceptor: RecordAcceptor,
    records: () => readonly MarketRecord[],
  ): Accepted | undefined {
    const isValid = (changing: ReadonlySet<string>) =>
      all.every(({ kind, id, form }) => !changing.has(`${kind}/${id}`) && this.#known.get(kind, id)?.forms.has(form))
    if (parts.length !== named.length || parts.some(({ isOdd }) => isOdd) || !isValid(new Set())) return undefined
    const accepted: AcceptedRecord[] = []
    for (const [at, one] of named.entries()) {
      const given = parts[at]?.fast ?? {}
      if (acceptor.isRepeated(one.kind, one.id, one.form, given)) continue
      const fast = acceptor.findFastChange(one.kind, one.id, one.form, given)
      if (!fast) return undefined
      const whole = () => {
        const record = records().filter(({ kind }) => hasFastFields(kind))[at] as MarketRecord
        return { record, normalized: normalizeRecord(record) }
      }
      accepted.push({ ...one, fast, whole })
    }
    const marketIds = named.filter(({ kind }) => kind === 'market').map(({ id }) => id)
    return { accepted, rejects: [], marketIds, records, isValid }
  }

  #remember(
    name: string,
    hash: string,
    parts: readonly Part[],
    records: readonly MarketRecord[],
    acceptor: RecordAcceptor,
  ): void {
    const all = records.map((record): Named => {
      const { kind, id, partial = false } = record
      return { kind, id, partial, form: acceptor.formOf(record) }
    })
    const fast = all.filter(({ kind }) => hasFastFields(kind))
    const isWhole = records.every(({ problems }) => !problems)
    if (!isWhole || fast.length !== parts.length || fast.some(({ kind }, at) => kind !== parts[at]?.kind)) return
    if (this.#forms.size >= sourcesMax) this.#forms.clear()
    this.#forms.set(name, { hash, all, fast })
  }
}

/** Inner records come first, in the order in which they are divided. */
function takeFastValues(
  names: SourceNames,
  value: unknown,
  kind: KindName,
  isInner = false,
  parts: Part[] = [],
): readonly Part[] {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return parts
  const members = value as Members
  for (const name in members) {
    const inner = isInner && name === 'markets' ? undefined : innerKinds[kind]?.[name]
    const list = inner && members[name]
    if (inner && Array.isArray(list))
      for (const one of list)
        if (inner !== 'market' || !isShort(one)) takeFastValues(names, one, inner, inner !== 'market', parts)
  }
  parts.push(names.take(kind, members))
  return parts
}

/** The lists with records that have fast fields (records/kinds.ts). */
const innerKinds: Partial<Readonly<Record<KindName, Readonly<Record<string, KindName>>>>> = {
  market: { events: 'event' },
  event: { series: 'series', markets: 'market' },
}

const structuralNames: ReadonlySet<string> = new Set([
  'id',
  ...Object.values(innerKinds).flatMap((names) => Object.keys(names)),
])
const fastNames: ReadonlySet<string> = new Set(kindNames.flatMap((kind) => [...fastFields[kind]]))

/** Such a market is a reference (records/decompose.ts). */
const isShort = (value: unknown): boolean =>
  typeof value !== 'object' || value === null || Object.keys(value).length <= 3
