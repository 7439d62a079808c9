// Processes the epochs of a network whose states are computed from blocks (../../chain/README.md).
import type { Clock } from '#runtime/clock.ts'
import { type Beacon, BeaconError } from '#sources/beacon/client.ts'
import { ChainProcessError, openChainProcess } from '../../chain/chain-process.ts'
import type { Signatures } from '../../chain/messages.ts'
import { Snapshots } from '../../chain/snapshots.ts'
import { createBeaconQueries } from '../read/beacon-queries.ts'
import { ComputedEpochs } from '../read/computed-epochs.ts'
import type { ExecutionSource } from '../read/execution.ts'
import type { EpochProcessor } from './epoch-processor.ts'
import { SegmentProcessor } from './segment-processor.ts'

export interface ComputedProcessorOptions {
  readonly clock: Clock
  /** The folder of the snapshots. */
  readonly folder: string
  readonly signatures: Signatures
  readonly snapshotEvery: number
  readonly watch?: readonly string[]
  readonly execution?: ExecutionSource | undefined
}

export function createComputedProcessor(
  beacon: Beacon,
  { clock, folder, signatures, snapshotEvery, watch = [], execution }: ComputedProcessorOptions,
): EpochProcessor & AsyncDisposable {
  const segments = new SegmentProcessor({ watch, execution, audit: undefined, summarizesNetwork: true })
  const snapshots = new Snapshots(folder)
  let opened: { readonly epochs: ComputedEpochs; close(): Promise<void> } | undefined

  async function open(signal: AbortSignal): Promise<ComputedEpochs> {
    if (opened) return opened.epochs
    const chain = await beacon.chain(signal)
    const start = { spec: chain.spec, genesisValidatorsRoot: chain.identity.genesisRoot, engine: 'auto' } as const
    // States are loaded by ComputedEpochs, which knows from where on they are needed.
    const process = openChainProcess({ start, clock, restore: async () => {} })
    const epochs = new ComputedEpochs({ beacon, chain, process, snapshots, clock, signatures, snapshotEvery })
    opened = { epochs, close: async () => process[Symbol.asyncDispose]() }
    return epochs
  }

  return {
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
      try {
        // The epoch before the first one is processed without being stored.
        await epochs.startAt(Math.max(0, request.from - 1))
        const source = { beacon, records: undefined, accept: () => true, epochs }
        return await segments.process(request, source, await beacon.chain(signal), signal)
      } catch (error) {
        if (error instanceof ChainProcessError) epochs.startAgain()
        throw error
      }
    },
    // A computed network has no gaps.
    recordHead: async () => ({ recorded: [], dropped: [], failure: undefined }),
    firstReadable: async ({ from }) => from,
    describeAnswers: async () => '',
    computeEpochs: async () => ({ is: 'impossible', reason: 'all states are computed from blocks' }),
    async [Symbol.asyncDispose]() {
      await opened?.close()
      opened = undefined
    },
  }
}
