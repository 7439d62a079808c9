// Composes the documents of markets from the current records (records/documents.ts).
import type { StateReader } from '#storage/state.ts'
import { type Document, type WrittenTexts, writeMarket } from '../records/documents.ts'
import { textOrNull } from '../records/merge-record.ts'
import { marketNames } from '../records/record-graph.ts'
import type { ShownRecords } from './changed-records.ts'
import { readCurrentRecords } from './current-records.ts'

export interface ComposedMarket extends Document {
  readonly id: string
  readonly slug: string
  /** When it last changed. */
  readonly modifiedMs: number
  /** What all documents of the call show together. */
  readonly shown: ShownRecords
}

/** The stored ones of these markets, by id. The reader needs one snapshot. */
export async function composeMarkets(
  reader: StateReader,
  ids: readonly string[],
): Promise<ReadonlyMap<string, ComposedMarket>> {
  const graph = await readCurrentRecords(reader, marketNames(ids))
  const written: WrittenTexts = new Map()
  const composed = new Map<string, ComposedMarket>()
  const shown = { names: new Set(graph.names().map((name) => name.join('/'))), numbers: graph.numbers() }
  for (const id of ids) {
    const document = writeMarket(graph, id, written)
    if (!document) continue
    const slug = textOrNull(graph.record('market', id)?.fields.slug) ?? ''
    composed.set(id, { ...document, id, slug, modifiedMs: graph.lastChangeMs('market', id), shown })
  }
  return composed
}
