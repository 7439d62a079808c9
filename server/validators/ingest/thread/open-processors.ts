// Creates epoch processors: on the current thread, or those of all networks on one separate thread.
import { join } from 'node:path'
import type { Network } from '#api/contract/wire/validators.ts'
import { type Clock, systemClock } from '#runtime/clock.ts'
import type { NetworkSettings } from '#runtime/settings/validators.ts'
import { openThread } from '#runtime/worker-thread.ts'
import { openBeacon } from '#sources/beacon/client.ts'
import type { ChainIdentity } from '#sources/beacon/endpoint.ts'
import { type ComputedProcessor, createComputedProcessor } from '../epochs/computed-processor.ts'
import { createEpochProcessor, type EpochProcessor } from '../epochs/epoch-processor.ts'
import { createHeadProcessor, type HeadProcessor, type LocalHeadProcessor } from '../provisional/head-processor.ts'
import { openExecution } from '../read/execution.ts'
import { StateRecords } from '../read/state-records.ts'

/** Plain values, so that they can be sent to a thread. */
export interface EpochProcessorStart {
  readonly network: Network
  readonly settings: NetworkSettings
  /** What is known of the chain that the nodes must be on. */
  readonly identity: Partial<ChainIdentity>
  /** The folder for states; undefined: they are not recorded, and snapshots are deleted at the end. */
  readonly recordsDir: string | undefined
  /** The folder for states of another process, which is only read. */
  readonly readFromDir?: string | undefined
}

export const withWatch = (start: EpochProcessorStart, names: readonly string[]): EpochProcessorStart => ({
  ...start,
  settings: { ...start.settings, watch: [...names] },
})

/** Runs on the current thread. */
export function openEpochProcessor(
  start: EpochProcessorStart,
  clock: Clock = systemClock,
): EpochProcessor | ComputedProcessor {
  const { settings, recordsDir, readFromDir } = start
  const { auditValidators, compareNodes } = settings.beacon
  const { beacon, ...options } = openSources(start, clock)
  if (settings.states === 'node')
    return createEpochProcessor(beacon, { ...options, auditValidators, comparesNodes: compareNodes })
  const { epochsPerHour, epochsPerDay, watchPastDays, verifySignatures, engine, checkpoint, checkpointRoot } = settings
  return createComputedProcessor(beacon, {
    ...{ clock, watch: options.watch, execution: options.execution },
    folder: recordsDir === undefined ? undefined : join(recordsDir, 'states'),
    readFrom: readFromDir === undefined ? undefined : join(readFromDir, 'states'),
    signatures: verifySignatures ? 'all' : 'none',
    engine,
    checkpoint: checkpoint === '' ? undefined : { from: checkpoint, blockRoot: checkpointRoot || undefined },
    time: { epochsPerHour, epochsPerDay, daysKept: watchPastDays + 1 },
  })
}

/**
 * For epochs that are not final. It has its own connections to the nodes. `processor`: that of the final epochs, which
 * computes their states if it computes any.
 */
export function openHeadProcessor(
  start: EpochProcessorStart,
  clock: Clock = systemClock,
  processor?: EpochProcessor | ComputedProcessor,
): LocalHeadProcessor {
  const { beacon, ...options } = openSources(start, clock)
  const openPending = processor && 'openPending' in processor ? processor.openPending : undefined
  return createHeadProcessor(beacon, { ...options, ...(openPending && { openPending }) })
}

function openSources({ network, settings, identity, recordsDir }: EpochProcessorStart, clock: Clock) {
  const { urls, timeoutMs } = settings.beacon
  const beacon = openBeacon({ network, urls, timeoutMs, clock, identity })
  return {
    beacon,
    watch: settings.watch,
    execution: openExecution(network, settings.execution, clock, (signal) => beacon.chain(signal)),
    records: recordsDir === undefined ? undefined : new StateRecords(recordsDir),
  }
}

/** A server that stops waits at most this long for its snapshots. */
const closeMs = 10_000

export interface EpochProcessors extends AsyncDisposable {
  of(network: Network): EpochProcessor
  headOf(network: Network): HeadProcessor
}

/** A call of a method with these arguments before the signal. */
export interface ProcessorCall {
  readonly network: Network
  readonly method: Exclude<keyof EpochProcessor, 'isOnOtherThread' | 'setWatch'>
  readonly args: readonly unknown[]
}

/** All of them run on one thread, with the system clock. */
export function openEpochProcessors(starts: readonly EpochProcessorStart[]): EpochProcessors {
  // If the thread has died, it starts again with the present watch lists.
  const current = [...starts]
  let isUsed = false
  const thread = openThread(new URL('./processor-thread.ts', import.meta.url), current, { isBackground: true })
  const processorOf = (network: Network): EpochProcessor => {
    const run = <T>(method: ProcessorCall['method'], signal: AbortSignal | undefined, ...args: unknown[]) => {
      isUsed = true
      return thread.call<T>('run', { network, method, args } satisfies ProcessorCall, signal)
    }
    return {
      isOnOtherThread: true,
      chain: (signal) => run('chain', signal),
      finalizedEpoch: (signal) => run('finalizedEpoch', signal),
      processSegment: (request, signal) => run('processSegment', signal, request),
      prepareHead: (next, finalizedEpoch, signal) => run('prepareHead', signal, next, finalizedEpoch),
      preparePast: (epochs, signal) => run('preparePast', signal, epochs),
      recordHead: (next, gaps, signal) => run('recordHead', signal, next, gaps),
      computeEpochs: (epochs, signal) => run('computeEpochs', signal, epochs),
      firstReadable: (epochs, signal) => run('firstReadable', signal, epochs),
      describeAnswers: (epoch, signal) => run('describeAnswers', signal, epoch),
      setWatch: (names) => {
        const at = current.findIndex((start) => start.network === network)
        current[at] = withWatch(current[at] as EpochProcessorStart, names)
        return thread.call('setWatch', { network, names })
      },
    }
  }
  return {
    of: processorOf,
    headOf: (network) => ({
      process: (request, signal) => thread.call('processHead', { network, ...request }, signal),
    }),
    async [Symbol.asyncDispose]() {
      const waiting = new AbortController()
      // Saves snapshots. Without them, the next start takes longer.
      if (isUsed)
        await Promise.race([thread.call('close', undefined), systemClock.sleep(closeMs, waiting.signal)]).catch(
          () => {},
        )
      waiting.abort()
      await thread.close()
    },
  }
}
