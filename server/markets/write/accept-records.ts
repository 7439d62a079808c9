// Decides which records of a batch are stored: normalizes them, skips copies and rejects what cannot be stored. Pure, and
// most of the work of a write, so it is done before the transaction.
import { stringifyJson } from '#api/contract/json.ts'
import type { Problem } from '#core/fault.ts'
import type { KindName } from '../records/kinds.ts'
import { textOrNull } from '../records/merge-record.ts'
import {
  type FieldProblem,
  type MarketRecord,
  type NormalizedRecord,
  normalizeFields,
  normalizeRecord,
} from '../records/normalize.ts'
import { fastFields, splitFields } from '../ticks/fast-fields.ts'
import { hashForm, type KnownRecord, type KnownRecords } from './known-records.ts'

export interface Reject {
  readonly kind: KindName
  readonly id: string
  /** Empty if the record has none. */
  readonly slug: string
  /** File and line, or URL and page. */
  readonly location: string
  readonly problems: readonly Problem[]
}

export interface AcceptedRecord extends Pick<MarketRecord, 'kind' | 'id' | 'partial'> {
  /** What it is known by (known-records.ts). */
  readonly form: string
  /** The fast values, if it changes nothing else. */
  readonly fast: FastChange | undefined
  /** Computed when it is needed. */
  readonly whole: () => { readonly record: MarketRecord; readonly normalized: NormalizedRecord }
}

export interface FastChange extends Pick<NormalizedRecord, 'fields' | 'emptied'> {
  readonly known: KnownRecord
  readonly drift: readonly FieldProblem[]
}

/** What is stored of a source record, or of several records. */
export interface Accepted {
  readonly accepted: readonly AcceptedRecord[]
  readonly rejects: readonly Reject[]
  readonly marketIds: readonly string[]
  /** All records, also those that are skipped or rejected. */
  readonly records: () => readonly MarketRecord[]
  /** Whether it would be accepted in the same way now, while other fields of some records change. */
  readonly isValid: (changing: ReadonlySet<string>) => boolean
}

export class RecordAcceptor {
  readonly #known: KnownRecords | undefined
  readonly #lastTexts = new Map<string, string>()
  readonly #forms = new Map<string, string>()

  constructor(known?: KnownRecords) {
    this.#known = known
  }

  accept(records: readonly MarketRecord[]): Accepted {
    const accepted: AcceptedRecord[] = []
    const rejects: Reject[] = []
    for (const record of records) {
      const { kind, id, partial = false } = record
      const [slowText, fast] = splitText(record)
      if (this.isRepeated(kind, id, slowText, fast)) continue
      const form = hashForm(`${partial}${slowText}`)
      this.#forms.set(`${kind}/${id}`, form)
      const change = record.problems ? undefined : this.findFastChange(kind, id, form, fast)
      const normalized = change ? undefined : normalizeRecord(record)
      const whole = () => ({ record, normalized: normalized ?? normalizeRecord(record) })
      if (normalized && normalized.problems.length > 0) rejects.push(toReject(record, normalized.problems))
      else accepted.push({ kind, id, partial, form, fast: change, whole })
    }
    const marketIds = records.filter(({ kind, id }) => kind === 'market' && id !== '').map(({ id }) => id)
    return { accepted, rejects, marketIds, records: () => records, isValid: () => true }
  }

  /** What the last record with this name is known by. */
  formOf = ({ kind, id }: MarketRecord): string => this.#forms.get(`${kind}/${id}`) ?? ''

  /** An event is repeated in each of its markets. Identical copies are skipped. */
  isRepeated(kind: KindName, id: string, slowText: string, fast: MarketRecord['fields']): boolean {
    const text = `${slowText}${stringifyJson(fast)}`
    const name = `${kind}/${id}`
    if (this.#lastTexts.get(name) === text) return true
    this.#lastTexts.set(name, text)
    return false
  }

  /** Undefined if other fields may change, or a fast value cannot be used as it is. */
  findFastChange(kind: KindName, id: string, form: string, given: MarketRecord['fields']): FastChange | undefined {
    const known = this.#known?.get(kind, id)
    const drift = known?.forms.get(form)
    if (!known || !drift) return undefined
    const fast = normalizeFields(kind, fastFields[kind], given)
    return fast.drift.length > 0 ? undefined : { fields: fast.fields, emptied: fast.emptied, known, drift }
  }
}

function splitText({ kind, fields, links }: MarketRecord): readonly [slowText: string, fast: MarketRecord['fields']] {
  const [slow, fast] = splitFields(kind, fields)
  return [stringifyJson([slow, links]), fast]
}

const toReject = ({ kind, id, fields, location = '' }: MarketRecord, problems: readonly Problem[]): Reject => ({
  kind,
  id,
  slug: textOrNull(fields.slug) ?? '',
  location,
  problems,
})
