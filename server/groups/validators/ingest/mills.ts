// Opens mills: where they are called, or all of a server's on one thread of their own.
import type { Network } from '#api/wire/validators.ts'
import type { NetworkSettings } from '#core/settings/validators.ts'
import { type ChainIdentity, openBeacon } from '#io/beacon/client.ts'
import { type Clock, systemClock } from '#io/clock.ts'
import { openThread } from '#io/thread.ts'
import { openExecution } from './execution.ts'
import { EpochMill, type Mill } from './mill.ts'

/** What a mill is made from: plain values, so that a thread can be given it. */
export interface MillStart {
  readonly network: Network
  readonly settings: Pick<NetworkSettings, 'beacon' | 'execution' | 'watch'>
  /** What the network's nodes must agree on, when it is known already. */
  readonly identity: ChainIdentity | undefined
}

/** Here, on this thread. */
export function openMill({ network, settings, identity }: MillStart, clock: Clock = systemClock): EpochMill {
  const { beacon, execution, watch } = settings
  const { urls, timeoutMs, auditValidators } = beacon
  return new EpochMill(openBeacon({ network, urls, timeoutMs, clock, identity }), {
    watch,
    auditValidators,
    execution: openExecution(execution, clock),
  })
}

export interface Mills extends AsyncDisposable {
  of(network: Network): Mill
}

/** All of them on one thread, which has the system's clock. */
export function openMills(starts: readonly MillStart[]): Mills {
  const thread = openThread(new URL('./mill-thread.ts', import.meta.url), starts)
  return {
    of: (network) => ({
      isApart: true,
      chain: (signal) => thread.ask('chain', network, signal),
      finalizedEpoch: (signal) => thread.ask('finalizedEpoch', network, signal),
      piece: (request, signal) => thread.ask('piece', { network, ...request }, signal),
    }),
    [Symbol.asyncDispose]: () => thread.close(),
  }
}
