// The thread that processes the epochs of all networks of a server. It opens no store: it transfers its columns to the
// thread that writes duties.
import type { Network } from '#api/wire/validators.ts'
import type { Range } from '#core/ranges.ts'
import { type Handed, serveThread, threadStart } from '#runtime/worker-thread.ts'
import type { HeadRequest, LocalHeadProcessor } from '../../provisional/head-processor.ts'
import type { EpochProcessor } from './epoch-processor.ts'
import { type EpochProcessorStart, openEpochProcessor, openHeadProcessor } from './open-processors.ts'
import { type SegmentRequest, segmentBuffers } from './processed-segment.ts'

const starts = threadStart<readonly EpochProcessorStart[]>()
const processors = new Map<Network, EpochProcessor>(starts.map((start) => [start.network, openEpochProcessor(start)]))
/** Replaced lists, for head processors that are opened later. */
const watchLists = new Map<Network, readonly string[]>()
const headProcessors = new Map<Network, LocalHeadProcessor>()

/** Opened with the first call, because most servers show finalized epochs only. */
function headProcessorOf(network: Network): LocalHeadProcessor {
  const start = starts.find((candidate) => candidate.network === network)
  if (!start) throw new Error(`there is no processor for ${network} on this thread`)
  const watch = [...(watchLists.get(network) ?? start.settings.watch)]
  const processor =
    headProcessors.get(network) ?? openHeadProcessor({ ...start, settings: { ...start.settings, watch } })
  headProcessors.set(network, processor)
  return processor
}

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
  recordHead: async (
    { network, next, gaps }: { readonly network: Network; readonly next: number; readonly gaps: readonly Range[] },
    signal,
  ) => ({ value: await processorOf(network).recordHead(next, gaps, signal) }),
  computeEpochs: async ({ network, epochs }: { readonly network: Network; readonly epochs: Range }, signal) => ({
    value: await processorOf(network).computeEpochs(epochs, signal),
  }),
  processHead: async ({ network, ...request }: HeadRequest & { readonly network: Network }, signal) => ({
    value: await headProcessorOf(network).process(request, signal),
  }),
  setWatch: async ({ network, names }: { readonly network: Network; readonly names: readonly string[] }) => {
    await processorOf(network).setWatch(names)
    watchLists.set(network, names)
    headProcessors.get(network)?.setWatch(names)
    return { value: undefined }
  },
  firstReadable: async ({ network, epochs }: { readonly network: Network; readonly epochs: Range }, signal) => ({
    value: await processorOf(network).firstReadable(epochs, signal),
  }),
  describeAnswers: async ({ network, epoch }: { readonly network: Network; readonly epoch: number }, signal) => ({
    value: await processorOf(network).describeAnswers(epoch, signal),
  }),
})
