// Loads all records that the documents of some markets or events show, each record once.
import { parseJson } from '#api/contract/json.ts'
import { EventLoopYielder, statementSteps } from '#runtime/event-loop-yielder.ts'
import type { RecordGraph, RecordReference, StoredRecord } from './documents.ts'
import { type KindName, kinds, type Reference, shownReferences } from './kinds.ts'

/** The current records, or those of a past time. */
export interface RecordSource {
  record(kind: KindName, id: string): Promise<StoredRecord | undefined>
  /** The records of kind `reference.from` that link to this one, in order. */
  referring(reference: Reference, id: string): Promise<readonly RecordReference[]>
}

export type RecordName = readonly [KindName, string]

export const marketNames = (ids: readonly string[]): RecordName[] => ids.map((id) => ['market', id])

/** Limit of the records loaded for one set of documents; far more than real markets have. */
export const recordsMax = 200_000

/** `yieldOnce`: how to yield to the event loop (event-loop-yielder.ts). */
export async function loadRecordGraph(
  source: RecordSource,
  starts: readonly RecordName[],
  yieldOnce?: () => Promise<void>,
): Promise<RecordGraph> {
  const yielder = new EventLoopYielder(yieldOnce)
  const records = new Map<string, StoredRecord | undefined>()
  const referring = new Map<string, readonly RecordReference[]>()
  const names: RecordName[] = []
  const queue: RecordName[] = [...starts]
  for (let next = queue.pop(); next; next = queue.pop()) {
    const [kind, id] = next
    const name = `${kind}/${id}`
    if (records.has(name)) continue
    if (records.size >= recordsMax) throw new Error(`more than ${recordsMax} records in one set of documents`)
    const record = await source.record(kind, id)
    await yielder.spend(statementSteps)
    records.set(name, record)
    if (!record) continue
    names.push(next)
    for (const [field, ids] of Object.entries(record.links)) {
      const to = kinds[kind].links[field]?.to
      if (to) for (const target of ids) queue.push([to, target])
    }
    for (const reference of shownReferences(kind)) {
      const shown = await source.referring(reference, id)
      await yielder.spend(statementSteps + shown.length)
      referring.set(`${reference.from}>${name}`, shown)
    }
  }
  return {
    record: (kind, id) => records.get(`${kind}/${id}`),
    referring: ({ from, to }, id) => referring.get(`${from}>${to}/${id}`) ?? [],
    names: () => names,
  }
}

/** The records that a record links to, each once. `only`: through these links; default: all. */
export function linkTargets(
  kind: KindName,
  links: StoredRecord['links'],
  only?: readonly string[],
): ReadonlyMap<string, RecordName> {
  const targets = new Map<string, RecordName>()
  for (const [field, ids] of Object.entries(links)) {
    if (only && !only.includes(field)) continue
    const to = kinds[kind].links[field]?.to
    if (to) for (const id of ids) targets.set(`${to}/${id}`, [to, id])
  }
  return targets
}

export const parseStoredRecord = (row: { readonly fields: string; readonly links: string }): StoredRecord => ({
  fields: parseJson(row.fields) as StoredRecord['fields'],
  links: JSON.parse(row.links),
})
