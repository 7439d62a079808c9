// Commands that ingest take turns with the servers that share their state, under the same leases (behaviour/operations.md#ingest-commands). Where the
// state is a file they may run beside its one server, as they always could.
import { type LeaseContext, LeaseLost, leasedDuties, leasedState, runUnderLease as leaseTurn } from '#ingest/lease.ts'
import type { Duties } from '#storage/duties.ts'
import type { State } from '#storage/state.ts'
import { CommandFailure } from './failure.ts'

/** What an ingester of `serve` is called there. */
export type IngesterName = 'chains' | 'beacon' | 'markets'

export const waitOption = ['--wait', 'when another process ingests, wait until it stops'] as const

export interface LeaseOptions {
  readonly wait?: boolean
}

/** What the work writes, it must write to the context it is given. */
export async function runWithLease<D extends LeaseContext & { readonly duties?: Duties }>(
  context: D,
  { wait = false }: LeaseOptions,
  name: IngesterName,
  work: (context: D, signal: AbortSignal) => Promise<void>,
  signal: AbortSignal,
): Promise<void> {
  if (context.state.engine === 'sqlite') return work(context, signal)
  const state = leasedState(context.state)
  const leased: D = { ...context, state, ...(context.duties && { duties: leasedDuties(context.duties) }) }
  try {
    const lease = await leaseTurn(leased, { name, wait }, (until) => work(leased, until), signal)
    if (lease || signal.aborted) return
  } catch (error) {
    if (!(error instanceof LeaseLost)) throw error
  }
  throw new CommandFailure(
    'ingest.held',
    `Another process ingests ${name}; stop it, set ingest.on to false where it runs, or wait for it with --wait.`,
  )
}

/** For a command that needs nothing else. */
export async function turnContext(state: State): Promise<LeaseContext> {
  const [{ systemClock }, { systemRandom }, { openLog }] = await Promise.all([
    import('#runtime/clock.ts'),
    import('#runtime/random.ts'),
    import('#runtime/log.ts'),
  ])
  const log = openLog('warn', (line) => process.stderr.write(line))
  return { state, clock: systemClock, random: systemRandom, log }
}
