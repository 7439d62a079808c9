// Ingest commands that share a PostgreSQL database with servers use the same leases as the servers
// (behaviour/operations.md#ingest-commands). On SQLite they need no lease.
import { type LeaseContext, runUnderLease } from '#ingest/lease.ts'
import { LeaseLost } from '#ingest/lease-lost.ts'
import { leasedDuties, leasedState } from '#ingest/leased-stores.ts'
import type { Duties } from '#storage/duties.ts'
import { CommandFailure } from './failure.ts'

/** Names of the ingesters in `tetrad serve`. */
export type IngesterName = 'chains' | 'beacon' | 'markets'

export const waitOption = ['--wait', 'if another process is ingesting, wait until it stops'] as const

export interface LeaseOptions {
  readonly wait?: boolean
}

/** `work` must write to the context that it gets: writes fail after the lease is lost. */
export async function runWithLease<D extends LeaseContext & { readonly duties?: Duties }>(
  context: D,
  { wait = false }: LeaseOptions,
  name: IngesterName,
  work: (context: D, signal: AbortSignal) => Promise<void>,
  signal: AbortSignal,
): Promise<void> {
  if (context.ingest.engine === 'sqlite') return work(context, signal)
  const ingest = leasedState(context.ingest)
  const leased: D = { ...context, ingest, ...(context.duties && { duties: leasedDuties(context.duties) }) }
  try {
    const lease = await runUnderLease(leased, { name, wait }, (until) => work(leased, until), signal)
    if (lease || signal.aborted) return
  } catch (error) {
    if (!(error instanceof LeaseLost)) throw error
  }
  throw new CommandFailure(
    'ingest.held',
    `Another process is ingesting ${name}. Stop it, set ingest.enabled to false there, or wait with --wait.`,
  )
}
