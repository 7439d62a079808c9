// Opens mills: where they are called, or all of a server's on one thread of their own.
import type { Network } from '#api/wire/validators.ts'
import { type Clock, systemClock } from '#runtime/clock.ts'
import type { NetworkSettings } from '#runtime/settings/validators.ts'
import { openThread } from '#runtime/worker-thread.ts'
import { type ChainIdentity, openBeacon } from '#sources/beacon/client.ts'
import { openExecution } from '../read/execution.ts'
import { type EpochProcessor, LocalEpochProcessor } from './epoch-processor.ts'

/** What a mill is made from: plain values, so that a thread can be given it. */
export interface EpochProcessorStart {
  readonly network: Network
  readonly settings: Pick<NetworkSettings, 'beacon' | 'execution' | 'watch'>
  /** What the network's nodes must agree on, when it is known already. */
  readonly identity: ChainIdentity | undefined
}

/** Here, on this thread. */
export function openEpochProcessor(
  { network, settings, identity }: EpochProcessorStart,
  clock: Clock = systemClock,
): LocalEpochProcessor {
  const { beacon, execution, watch } = settings
  const { urls, timeoutMs, auditValidators } = beacon
  return new LocalEpochProcessor(openBeacon({ network, urls, timeoutMs, clock, identity }), {
    watch,
    auditValidators,
    execution: openExecution(execution, clock),
  })
}

export interface EpochProcessors extends AsyncDisposable {
  of(network: Network): EpochProcessor
}

/** All of them on one thread, which has the system's clock. */
export function openEpochProcessors(starts: readonly EpochProcessorStart[]): EpochProcessors {
  const thread = openThread(new URL('./processor-thread.ts', import.meta.url), starts)
  return {
    of: (network) => ({
      isOnOtherThread: true,
      chain: (signal) => thread.call('chain', network, signal),
      finalizedEpoch: (signal) => thread.call('finalizedEpoch', network, signal),
      processSegment: (request, signal) => thread.call('piece', { network, ...request }, signal),
    }),
    [Symbol.asyncDispose]: () => thread.close(),
  }
}
