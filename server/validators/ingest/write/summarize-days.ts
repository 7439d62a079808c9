// Summarizes complete days of a network by pool and operator (../../duties/daily-summaries.ts).
import { daysToSummarize } from '../../duties/daily-summaries.ts'
import { plainTime } from '../../duties/layout.ts'
import { readEntityChanges } from '../../entities/memberships.ts'
import type { IngestSource } from './ingest-source.ts'
import { readSummaryEntities } from './read-summary-entities.ts'

/** A few at a time, so that new epochs do not wait. */
const daysMax = 8

/** Summarizes days before `until` that have no summary, or one with outdated pools or operators. */
export async function summarizeDays(
  {
    context: { ingest, duties },
    network,
    time,
  }: Pick<IngestSource, 'network' | 'time'> & {
    readonly context: Pick<IngestSource['context'], 'ingest' | 'duties'>
  },
  until: number,
  signal: AbortSignal,
): Promise<void> {
  const input = { network, time: plainTime(time), until }
  const changes = await readEntityChanges(ingest, network)
  if ((await daysToSummarize(duties, { ...input, changes })).length === 0) return
  const entities = await readSummaryEntities(ingest, network)
  await duties.update('summarizeDays', { ...input, entities, daysMax }, { signal })
}
