// Summarizes complete days of a network by pool and operator (../../duties/daily-summaries.ts).
import { daysToSummarize } from '../../duties/daily-summaries.ts'
import { plainTime } from '../../duties/layout.ts'
import { summarizeDuties } from '../../duties/store.ts'
import { entitiesVersion } from '../../registry/entities.ts'
import type { IngestSource } from './ingest-source.ts'
import { readSummaryEntities } from './read-summary-entities.ts'

/** A few at a time, so that new epochs do not wait. */
const daysMax = 8

/** Summarizes days before `until` that have no summary, or one with outdated pools. */
export async function summarizeDays(
  { context: { ingest, duties }, network, time }: IngestSource,
  until: number,
  signal: AbortSignal,
): Promise<void> {
  const input = { network, time: plainTime(time), until }
  const version = await entitiesVersion(ingest, network)
  if ((await daysToSummarize(duties, { ...input, version })).length === 0) return
  const entities = await readSummaryEntities(ingest, network)
  await summarizeDuties(duties, { ...input, entities, daysMax }, signal)
}
