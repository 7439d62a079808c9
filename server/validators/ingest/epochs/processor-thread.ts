// The thread on which epochs are made into columns: one for all networks of a server. It opens no store; it
// hands its columns over, buffers and all, to the thread that writes duties.
import type { Network } from '#api/wire/validators.ts'
import { type Handed, serveThread, threadStart } from '#runtime/worker-thread.ts'
import { type EpochProcessor, type SegmentRequest, segmentBuffers } from './epoch-processor.ts'
import { type EpochProcessorStart, openEpochProcessor } from './open-processors.ts'

const processors = new Map<Network, EpochProcessor>(
  threadStart<readonly EpochProcessorStart[]>().map((start) => [start.network, openEpochProcessor(start)]),
)

function processorOf(network: Network): EpochProcessor {
  const processor = processors.get(network)
  if (!processor) throw new Error(`this thread was not told about ${network}`)
  return processor
}

serveThread({
  chain: async (network: Network, signal): Promise<Handed> => ({ value: await processorOf(network).chain(signal) }),
  finalizedEpoch: async (network: Network, signal) => ({ value: await processorOf(network).finalizedEpoch(signal) }),
  piece: async ({ network, ...request }: SegmentRequest & { readonly network: Network }, signal) => {
    const piece = await processorOf(network).processSegment(request, signal)
    return { value: piece, transfer: segmentBuffers(piece) }
  },
})
