// Composes events with their complete markets for a request. The markets are loaded without their events, because each
// would repeat the event that contains it.
import { selectIn } from '#storage/select-in.ts'
import type { StateReader } from '#storage/state.ts'
import { type CurrentRow, currentRecords, valuesAdder } from '../../read/current-records.ts'
import { type StoredRecord, type WrittenTexts, writeEvent } from '../../records/documents.ts'
import { eventMarkets } from '../../records/kinds.ts'
import { loadRecordGraph, marketNames, type RecordSource } from '../../records/record-graph.ts'

/** Texts of the events. `partCount`: of markets. */
export interface ComposedRecords {
  readonly texts: readonly string[]
  readonly partCount: number
}

/** Undefined if the events have more than `marketsMax` markets together. Events that are not stored are left out. */
export async function composeEvents(
  reader: StateReader,
  ids: readonly string[],
  marketsMax: number,
): Promise<ComposedRecords | undefined> {
  const records = currentRecords(reader)
  const marketIds = new Set<string>()
  for (const id of ids) {
    for (const market of await records.referring(eventMarkets, id)) marketIds.add(market.id)
    if (marketIds.size > marketsMax) return undefined
  }
  const source = withMarkets(records, await loadMarkets(reader, [...marketIds]))
  const eventNames = ids.map((id) => ['event', id] as const)
  const graph = await loadRecordGraph(source, [...eventNames, ...marketNames([...marketIds])])
  const written: WrittenTexts = new Map()
  const texts = ids.map((id) => writeEvent(graph, id, written)).filter((text) => text !== undefined)
  return { texts, partCount: marketIds.size }
}

async function loadMarkets(reader: StateReader, ids: readonly string[]): Promise<Map<string, StoredRecord>> {
  const markets = new Map<string, StoredRecord>()
  const sql = `select id, fields, links, number, changed_ms as "changedMs" from market_records where kind = 'market' and id in`
  const rows = await selectIn<CurrentRow & { id: string }>(reader, sql, [], ids)
  for (const { id, record } of await valuesAdder(reader)(rows)) {
    const { events: _events, ...otherLinks } = record.links
    markets.set(id, { fields: record.fields, links: otherLinks })
  }
  return markets
}

const withMarkets = (records: RecordSource, markets: ReadonlyMap<string, StoredRecord>): RecordSource => ({
  record: async (kind, id) => (kind === 'market' ? markets.get(id) : records.record(kind, id)),
  referring: records.referring,
})
