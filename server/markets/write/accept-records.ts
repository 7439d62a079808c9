// Decides which records of a batch are stored: normalizes them, skips copies and rejects what cannot be stored. Pure.
import { stringifyJson } from '#api/contract/json.ts'
import type { Problem } from '#core/fault.ts'
import type { KindName } from '../records/kinds.ts'
import { textOrNull } from '../records/merge-record.ts'
import { type MarketRecord, type NormalizedRecord, normalizeRecord } from '../records/normalize.ts'

export interface Reject {
  readonly kind: KindName
  readonly id: string
  /** Empty if the record has none. */
  readonly slug: string
  /** File and line, or URL and page. */
  readonly location: string
  readonly problems: readonly Problem[]
}

export interface AcceptedRecord {
  readonly record: MarketRecord
  readonly normalized: NormalizedRecord
}

export function acceptRecords(records: Iterable<MarketRecord>) {
  const accepted: AcceptedRecord[] = []
  const rejects: Reject[] = []
  const lastTexts = new Map<string, string>()
  for (const record of records) {
    if (isRepeated(lastTexts, record)) continue
    const normalized = normalizeRecord(record)
    if (normalized.problems.length === 0) accepted.push({ record, normalized })
    else rejects.push(toReject(record, normalized.problems))
  }
  return { accepted, rejects }
}

/** An event is repeated in each of its markets. Skip identical copies. */
function isRepeated(lastTexts: Map<string, string>, { kind, id, fields, links }: MarketRecord): boolean {
  const name = `${kind}/${id}`
  const text = stringifyJson([fields, links])
  if (lastTexts.get(name) === text) return true
  lastTexts.set(name, text)
  return false
}

const toReject = ({ kind, id, fields, location = '' }: MarketRecord, problems: readonly Problem[]): Reject => ({
  kind,
  id,
  slug: textOrNull(fields.slug) ?? '',
  location,
  problems,
})
