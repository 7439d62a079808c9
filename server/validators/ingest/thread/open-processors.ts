// Creates epoch processors: on the current thread, or those of all networks on one separate thread.
import type { Network } from '#api/contract/wire/validators.ts'
import { type Clock, systemClock } from '#runtime/clock.ts'
import type { NetworkSettings } from '#runtime/settings/validators.ts'
import { openThread } from '#runtime/worker-thread.ts'
import { type Beacon, openBeacon } from '#sources/beacon/client.ts'
import type { ChainIdentity } from '#sources/beacon/endpoint.ts'
import { type ComputedProcessor, createComputedProcessor } from '../epochs/computed-processor.ts'
import { createEpochProcessor, type EpochProcessor, epochsAhead } from '../epochs/epoch-processor.ts'
import { createHeadProcessor, type HeadProcessor, type LocalHeadProcessor } from '../provisional/head-processor.ts'
import type { States } from '../read/epoch-source.ts'
import { openExecution } from '../read/execution.ts'
import { NodeStates } from '../read/node-states.ts'
import type { ProcessorHandlers } from './processor-thread.ts'

/** Plain values, so that they can be sent to a thread. */
export interface EpochProcessorStart {
  readonly network: Network
  readonly settings: NetworkSettings
  /** What is known of the chain that the nodes must be on. */
  readonly identity: Partial<ChainIdentity>
  /** The folder for snapshots of states; undefined: a temporary one. */
  readonly statesDir: string | undefined
  /** The folder for snapshots of another process, which is only read. */
  readonly readFromDir?: string | undefined
}

export const withWatch = (start: EpochProcessorStart, names: readonly string[]): EpochProcessorStart => ({
  ...start,
  settings: { ...start.settings, watch: [...names] },
})

/** The processors of one network on the current thread. They share its states. */
export interface LocalProcessors extends AsyncDisposable {
  readonly epochs: EpochProcessor
  /** For epochs that are not final. It has its own connections to the nodes. */
  readonly head: LocalHeadProcessor
}

export function openLocalProcessors(start: EpochProcessorStart, clock: Clock = systemClock): LocalProcessors {
  const { network, settings, identity } = start
  const { urls, timeoutMs } = settings.beacon
  const open = () => openBeacon({ network, urls, timeoutMs, clock, identity })
  const beacon = open()
  const execution = openExecution(network, settings.execution, clock, (signal) => beacon.chain(signal))
  const options = { watch: settings.watch, execution }
  if (settings.states === 'node') {
    const head = createHeadProcessor(open(), { ...options, statesOf: (node) => new NodeStates(node) })
    return { epochs: createEpochProcessor(beacon, options), head, [Symbol.asyncDispose]: async () => {} }
  }
  const processor = openComputedProcessor(beacon, start, clock)
  return {
    epochs: processor,
    head: createHeadProcessor(open(), { ...options, statesOf: () => processor }),
    [Symbol.asyncDispose]: () => processor[Symbol.asyncDispose](),
  }
}

/** For commands that read epochs without processing them. */
export const openStates = (beacon: Beacon, start: Omit<EpochProcessorStart, 'identity'>, clock: Clock): States =>
  start.settings.states === 'node' ? new NodeStates(beacon) : openComputedProcessor(beacon, start, clock)

function openComputedProcessor(
  beacon: Beacon,
  { network, settings, statesDir, readFromDir }: Omit<EpochProcessorStart, 'identity'>,
  clock: Clock,
): ComputedProcessor {
  const { epochsPerHour, epochsPerDay, watchPastDays, verifySignatures, engine, checkpoint, checkpointRoot } = settings
  return createComputedProcessor(beacon, {
    ...{
      clock,
      watch: settings.watch,
      execution: openExecution(network, settings.execution, clock, (signal) => beacon.chain(signal)),
    },
    folder: statesDir,
    readFrom: readFromDir,
    signatures: verifySignatures ? 'all' : 'none',
    engine,
    checkpoint: checkpoint === '' ? undefined : { from: checkpoint, blockRoot: checkpointRoot || undefined },
    time: { epochsPerHour, epochsPerDay, daysKept: watchPastDays + 1 },
  })
}

export interface EpochProcessors extends AsyncDisposable {
  of(network: Network): EpochProcessor
  headOf(network: Network): HeadProcessor
}

type ProcessorMethod = Exclude<keyof EpochProcessor, 'isOnOtherThread' | 'epochsAhead' | 'setWatch'>
/** The arguments before the signal. */
type ArgumentsOf<Method extends ProcessorMethod> =
  Parameters<EpochProcessor[Method]> extends [...infer Arguments, AbortSignal] ? Arguments : []

export interface ProcessorCall {
  readonly network: Network
  readonly method: ProcessorMethod
  readonly args: readonly unknown[]
}

/** A server that stops waits at most this long for its snapshots. */
const closeMs = 10_000

/** All of them run on one thread, with the system clock. */
export function openEpochProcessors(starts: readonly EpochProcessorStart[]): EpochProcessors {
  // If the thread has died, it starts again with the present watch lists.
  const current = [...starts]
  let isUsed = false
  const thread = openThread<ProcessorHandlers>(new URL('./processor-thread.ts', import.meta.url), current, {
    isBackground: true,
  })
  const processorOf = (network: Network): EpochProcessor => {
    const run = <Method extends ProcessorMethod>(
      method: Method,
      signal: AbortSignal | undefined,
      ...args: ArgumentsOf<Method>
    ) => {
      isUsed = true
      return thread.call('run', { network, method, args }, signal) as ReturnType<EpochProcessor[Method]>
    }
    return {
      isOnOtherThread: true,
      epochsAhead: epochsAhead[starts.find((start) => start.network === network)?.settings.states ?? 'computed'],
      chain: (signal) => run('chain', signal),
      finalizedEpoch: (signal) => run('finalizedEpoch', signal),
      processSegment: (request, signal) => run('processSegment', signal, request),
      prepareHead: (next, finalizedEpoch, signal) => run('prepareHead', signal, next, finalizedEpoch),
      preparePast: (epochs, signal) => run('preparePast', signal, epochs),
      firstReadable: (epochs, signal) => run('firstReadable', signal, epochs),
      step: () => run('step', undefined),
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
