// Composes events with their complete markets for a request. The markets are written without their events, because each
// would repeat the event that contains it.
import { selectIn } from '#storage/select-in.ts'
import type { StateReader } from '#storage/state.ts'
import { readCurrentRecords } from '../../read/current-records.ts'
import { type RecordGraph, type WrittenTexts, writeEvent } from '../../records/documents.ts'
import { marketNames } from '../../records/record-graph.ts'

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
  const sql = `select from_id as id from market_links where to_kind = 'event' and from_kind = 'market' and to_id in`
  const links = await selectIn<{ id: string }>(reader, sql, [], ids)
  const marketIds = new Set(links.map(({ id }) => id))
  if (marketIds.size > marketsMax) return undefined
  const eventNames = ids.map((id) => ['event', id] as const)
  const graph = withoutEventsOfMarkets(
    await readCurrentRecords(reader, [...eventNames, ...marketNames([...marketIds])]),
  )
  const written: WrittenTexts = new Map()
  const texts = ids.map((id) => writeEvent(graph, id, written)).filter((text) => text !== undefined)
  return { texts, partCount: marketIds.size }
}

const withoutEventsOfMarkets = (graph: RecordGraph): RecordGraph => ({
  ...graph,
  record(kind, id) {
    const record = graph.record(kind, id)
    if (kind !== 'market' || !record) return record
    const { events: _events, ...links } = record.links
    return { fields: record.fields, links }
  },
})
