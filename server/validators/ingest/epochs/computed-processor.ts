// Processes the epochs of a network whose states are computed from blocks (../../chain/README.md).
import { mkdtempDisposable } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Clock } from '#runtime/clock.ts'
import { type Beacon, BeaconError } from '#sources/beacon/client.ts'
import { type ChainProcess, ChainProcessError, ChainStoppedError, openChainProcess } from '../../chain/chain-process.ts'
import type { Signatures } from '../../chain/messages.ts'
import { Snapshots } from '../../chain/snapshots.ts'
import { createBeaconQueries } from '../read/beacon-queries.ts'
import { ComputedEpochs } from '../read/computed-epochs.ts'
import type { EpochSource } from '../read/epoch-reader.ts'
import type { ExecutionSource } from '../read/execution.ts'
import type { EpochProcessor } from './epoch-processor.ts'
import { SegmentProcessor } from './segment-processor.ts'

export interface ComputedProcessorOptions {
  readonly clock: Clock
  /** The folder of the snapshots. Undefined: a temporary one. */
  readonly folder: string | undefined
  readonly signatures: Signatures
  /** A snapshot is saved every hour, and one of each of the last days is kept. */
  readonly time: { readonly epochsPerHour: number; readonly epochsPerDay: number; readonly daysKept: number }
  readonly watch?: readonly string[]
  readonly execution?: ExecutionSource | undefined
}

export interface ComputedProcessor extends EpochProcessor, AsyncDisposable {
  /** A processor of epochs that are not final, from the same chain process. */
  openPending(watch: readonly string[]): EpochProcessor
  /** Of the chain process; undefined while it does not run. */
  readonly pid: number | undefined
}

export function createComputedProcessor(
  beacon: Beacon,
  { clock, folder, signatures, time, watch = [], execution }: ComputedProcessorOptions,
): ComputedProcessor {
  const segments = new SegmentProcessor({ watch, execution, audit: undefined, summarizesNetwork: true })
  let opened: { readonly epochs: ComputedEpochs; readonly process: ChainProcess; close(): Promise<void> } | undefined

  async function open(signal: AbortSignal): Promise<ComputedEpochs> {
    if (opened) return opened.epochs
    const chain = await beacon.chain(signal)
    const start = { spec: chain.spec, genesisValidatorsRoot: chain.identity.genesisRoot, engine: 'auto' } as const
    // States are loaded by ComputedEpochs, which knows from where on they are needed.
    const process = openChainProcess({ start, clock, restore: async () => {} })
    const temporary = folder === undefined ? await mkdtempDisposable(join(tmpdir(), 'tetrad-states-')) : undefined
    const snapshots = new Snapshots(folder ?? (temporary?.path as string), time)
    const epochs = new ComputedEpochs({
      beacon,
      chain,
      process,
      snapshots,
      clock,
      signatures,
      snapshotEvery: time.epochsPerHour,
    })
    const close = async () => {
      await process[Symbol.asyncDispose]()
      await temporary?.remove()
    }
    opened = { epochs, process, close }
    return epochs
  }

  /** `isPending`: the epochs need not be final. */
  const processorOf = (segments: SegmentProcessor, isPending: boolean): EpochProcessor => ({
    isOnOtherThread: false,
    chain: (signal) => beacon.chain(signal),
    setWatch: async (names) => segments.setWatch(names),
    async finalizedEpoch(signal) {
      const { rules } = await beacon.chain(signal)
      const epoch = await createBeaconQueries(beacon, rules, signal).finalizedEpoch('head')
      if (epoch === undefined) throw new BeaconError('the node did not return the finalized epoch')
      return epoch
    },
    async processSegment(request, signal) {
      const epochs = (await open(signal)).withSignal(signal)
      // The epoch before the first one is processed without being stored.
      const first = Math.max(0, request.from - 1)
      const source = { beacon, records: undefined, accept: () => true, epochs: isPending ? pendingOf(epochs) : epochs }
      for (;;) {
        try {
          await (isPending ? epochs.beginBy(first) : epochs.startAt(first))
          return await segments.process(request, source, await beacon.chain(signal), signal)
        } catch (error) {
          if (!(error instanceof ChainProcessError)) throw error
          epochs.startAgain()
          // The process starts again from a snapshot. It stops for good if it ends too often.
          if (signal.aborted || error instanceof ChainStoppedError) throw error
        }
      }
    },
    // A computed network has no gaps.
    recordHead: async () => ({ recorded: [], dropped: [], failure: undefined }),
    firstReadable: async ({ from }) => from,
    describeAnswers: async () => '',
    computeEpochs: async () => ({ is: 'impossible', reason: 'all states are computed from blocks' }),
  })

  return {
    ...processorOf(segments, false),
    openPending: (names) =>
      processorOf(new SegmentProcessor({ watch: names, execution, audit: undefined, summarizesNetwork: false }), true),
    get pid() {
      return opened?.process.pid
    },
    async [Symbol.asyncDispose]() {
      await opened?.close()
      opened = undefined
    },
  }
}

/** The vote rewards of the last epoch are verified when it is final. */
const pendingOf = (epochs: ComputedEpochs): EpochSource => ({
  withSignal(signal) {
    epochs.withSignal(signal)
    return this
  },
  read: (epoch) => epochs.readPending(epoch),
  readAhead: async () => undefined,
})
