// A server that computes the states of a chain that the library made (made-chain-node.ts), for tests.
import { systemClock } from '#runtime/clock.ts'
import { openBeacon } from '#sources/beacon/client.ts'
import { type ComputedProcessorOptions, createComputedProcessor } from '#validators/ingest/epochs/computed-processor.ts'
import { Follower } from '#validators/ingest/follow.ts'
import { withChainTimes } from '#validators/ingest/read/chain-identity.ts'
import { openContext, settingsWith } from './context.ts'

export const computedNetwork = 'hoodi'
/** Epochs in an hour and in a day. */
export const computedTime = { epochsPerHour: 2, epochsPerDay: 8 }
export const computedPastDays = 2

export interface ComputedServerOptions extends Partial<ComputedProcessorOptions> {
  readonly folder: string
  readonly watch?: readonly string[]
  /** Days to read again for an added validator. */
  readonly pastDays?: number
}

/** A database. `open` starts a server with it. */
export async function openComputedServer(urls: readonly string[], fromEpoch = 0) {
  const context = await openContext()
  const clock = systemClock
  const open = async ({ watch = [], pastDays = computedPastDays, ...options }: ComputedServerOptions) => {
    const network = {
      ...{ ...computedTime, states: 'computed', watch, watchPastDays: pastDays },
      beacon: { urls, fromEpoch },
    }
    const configured = settingsWith({ validators: { networks: { [computedNetwork]: network } } })
    const settings = await withChainTimes({ ...context, settings: configured, clock })
    const beacon = openBeacon({ network: computedNetwork, urls, timeoutMs: 10_000, clock, backoffMs: 1 })
    const processor = createComputedProcessor(beacon, {
      ...{ clock, signatures: 'all', watch, ...options },
      time: { ...computedTime, daysKept: Math.max(pastDays, computedPastDays) + 1 },
    })
    const follower = new Follower({ ...context, settings, clock }, computedNetwork, processor)
    return {
      ...{ follower, processor, beacon, context: { ...context, settings } },
      [Symbol.asyncDispose]: () => processor[Symbol.asyncDispose](),
    }
  }
  return { context, open, [Symbol.asyncDispose]: () => context[Symbol.asyncDispose]() }
}
