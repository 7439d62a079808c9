// Composes series with their events for a request. The events are written without their markets, and the series inside
// these events without their events (behaviour/markets.md#references).
import type { StateReader } from '#storage/state.ts'
import { currentRecords, readCurrentRecords } from '../../read/current-records.ts'
import { type WrittenTexts, writeRecord } from '../../records/documents.ts'
import { kindNames, kinds, seriesEvents } from '../../records/kinds.ts'
import type { ComposedRecords } from './event-documents.ts'

/** All links, but no references. */
const linkNames = kindNames.flatMap((kind) => Object.keys(kinds[kind].links))

/** Undefined if the series have more than `eventsMax` events together. Series that are not stored are left out. */
export async function composeSeries(
  reader: StateReader,
  ids: readonly string[],
  excludeEvents: boolean,
  eventsMax: number,
): Promise<ComposedRecords | undefined> {
  const { referring } = currentRecords(reader)
  const eventIds = new Map<string, readonly string[]>()
  let count = 0
  for (const id of excludeEvents ? [] : ids) {
    const events = (await referring(seriesEvents, id)).map((event) => event.id)
    eventIds.set(id, events)
    count += events.length
    if (count > eventsMax) return undefined
  }
  const names = [
    ...ids.map((id) => ['series', id] as const),
    ...[...eventIds.values()].flat().map((id) => ['event', id] as const),
  ]
  const graph = await readCurrentRecords(reader, names, linkNames)
  const written: WrittenTexts = new Map()
  const write = (kind: 'series' | 'event', id: string) => writeRecord(graph, kind, id, written)
  const texts = ids.flatMap((id) => {
    const text = write('series', id)
    const events = (eventIds.get(id) ?? []).map((eventId) => write('event', eventId))
    if (text === undefined || events.length === 0) return text ?? []
    return `${text.slice(0, -1)},"events":[${events.join()}]}`
  })
  return { texts, partCount: count }
}
