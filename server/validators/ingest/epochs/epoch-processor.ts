// Reads and processes the epochs of a segment into columns that can be stored. The ingest of a network calls it
// (../follow.ts). It accesses nodes and states, but no database. In a server it therefore runs on a thread of its own
// (../thread/processor-thread.ts, decisions/decode-epochs-on-a-separate-thread.md).
//
// Segments are requested in order, one at a time. The processor keeps the state at both ends of the last segment: the next
// request continues at its end, or repeats it from its start because it could not be stored. For a request that starts
// anywhere else, the previous epoch is processed first.
import type { Range } from '#core/ranges.ts'
import { type Beacon, BeaconError } from '#sources/beacon/client.ts'
import type { Chain } from '#sources/beacon/endpoint.ts'
import { createBeaconQueries } from '../read/beacon-queries.ts'
import type { ComputingStep } from '../read/computed-states.ts'
import type { ExecutionSource } from '../read/execution.ts'
import { NodeStates } from '../read/node-states.ts'
import type { ProcessedSegment, SegmentRequest } from './processed-segment.ts'
import { SegmentProcessor } from './segment-processor.ts'

export interface EpochProcessor {
  /** True: the next segment can be processed while the caller stores this one. */
  readonly isOnOtherThread: boolean
  /** An epoch is processed with the state as many epochs later. */
  readonly epochsAhead: number
  chain(signal?: AbortSignal): Promise<Chain>
  finalizedEpoch(signal: AbortSignal): Promise<number>
  processSegment(request: SegmentRequest, signal: AbortSignal): Promise<ProcessedSegment>
  /** Takes the state that the epoch `next` will need, or else that of the finalized epoch, before nodes delete it. */
  prepareHead(next: number, finalizedEpoch: number, signal: AbortSignal): Promise<void>
  /**
   * Computes states of past epochs, for a limited time, so that new epochs do not wait. Returns whether the epochs can be
   * processed now. If not, call it again with the same epochs.
   */
  preparePast(epochs: Range, signal: AbortSignal): Promise<boolean>
  /** The first epoch of a range that can be processed. Undefined: none. */
  firstReadable(epochs: Range, signal: AbortSignal): Promise<number | undefined>
  /** What takes long at present, for the operator. Undefined: nothing. */
  step(): Promise<ComputingStep | undefined>
  /** Replaces the watch list, for the segments after this call. */
  setWatch(names: readonly string[]): Promise<void>
}

/** With computed states, the epoch two later must be final, which the state two epochs after that says. */
export const epochsAhead = { node: 2, computed: 4 } as const

export interface EpochProcessorOptions {
  readonly watch?: readonly string[]
  readonly execution?: ExecutionSource | undefined
}

/** A processor on the current thread, with the states of the nodes. */
export function createEpochProcessor(
  beacon: Beacon,
  { watch = [], execution }: EpochProcessorOptions = {},
): EpochProcessor {
  const states = new NodeStates(beacon)
  const segments = new SegmentProcessor({ watch, execution, summarizesNetwork: true })
  return {
    isOnOtherThread: false,
    epochsAhead: epochsAhead.node,
    prepareHead: async () => {},
    preparePast: async () => true,
    firstReadable: async ({ from }) => from,
    step: async () => undefined,
    setWatch: async (names) => segments.setWatch(names),
    chain: (signal) => beacon.chain(signal),
    async finalizedEpoch(signal) {
      const { rules } = await beacon.chain(signal)
      const epoch = await createBeaconQueries(beacon, rules, signal).finalizedEpoch('head')
      if (epoch === undefined) throw new BeaconError('the node did not return the finalized epoch')
      return epoch
    },
    async processSegment(request, signal) {
      const chain = await beacon.chain(signal)
      const read = () =>
        // The epoch before the first one is processed without being stored.
        states.readFinal(Math.max(0, request.from - 1), signal, (epochs) =>
          segments.process(request, epochs, chain, signal),
        )
      return read().catch((error: unknown) => {
        segments.startAgain()
        throw error
      })
    },
  }
}
