// The thread that processes the epochs of all networks of a server. It opens no store: it transfers its columns to the
// thread that writes duties.
import type { Network } from '#api/wire/validators.ts'
import type { Range } from '#core/ranges.ts'
import { type Handed, serveThread, threadStart } from '#runtime/worker-thread.ts'
import { type EpochProcessor, type SegmentRequest, segmentBuffers } from './epoch-processor.ts'
import { type EpochProcessorStart, openEpochProcessor } from './open-processors.ts'

const processors = new Map<Network, EpochProcessor>(
  threadStart<readonly EpochProcessorStart[]>().map((start) => [start.network, openEpochProcessor(start)]),
)

function processorOf(network: Network): EpochProcessor {
  const processor = processors.get(network)
  if (!processor) throw new Error(`there is no processor for ${network} on this thread`)
  return processor
}

serveThread({
  chain: async (network: Network, signal): Promise<Handed> => ({ value: await processorOf(network).chain(signal) }),
  finalizedEpoch: async (network: Network, signal) => ({ value: await processorOf(network).finalizedEpoch(signal) }),
  processSegment: async ({ network, ...request }: SegmentRequest & { readonly network: Network }, signal) => {
    const segment = await processorOf(network).processSegment(request, signal)
    return { value: segment, transfer: segmentBuffers(segment) }
  },
  recordHead: async ({ network, next }: { readonly network: Network; readonly next: number }, signal) => ({
    value: await processorOf(network).recordHead(next, signal),
  }),
  computeEpochs: async ({ network, epochs }: { readonly network: Network; readonly epochs: Range }, signal) => ({
    value: await processorOf(network).computeEpochs(epochs, signal),
  }),
  firstReadable: async ({ network, epochs }: { readonly network: Network; readonly epochs: Range }, signal) => ({
    value: await processorOf(network).firstReadable(epochs, signal),
  }),
})
