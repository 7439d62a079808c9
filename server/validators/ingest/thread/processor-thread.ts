// The thread that processes the epochs of all networks of a server. It opens no store: it transfers its columns to the
// thread that writes duties.
import type { Network } from '#api/contract/wire/validators.ts'
import { systemClock } from '#runtime/clock.ts'
import { serveThread, threadStart } from '#runtime/worker-thread.ts'
import { type ProcessedSegment, segmentBuffers } from '../epochs/processed-segment.ts'
import type { HeadRequest, LocalHeadProcessor } from '../provisional/head-processor.ts'
import {
  type EpochProcessorStart,
  openEpochProcessor,
  openHeadProcessor,
  type ProcessorCall,
  withWatch,
} from './open-processors.ts'

/** With the present watch lists, for head processors that are opened later. */
const starts = new Map(threadStart<readonly EpochProcessorStart[]>().map((start) => [start.network, start]))
const processors = new Map(Array.from(starts, ([network, start]) => [network, openEpochProcessor(start)]))
const headProcessors = new Map<Network, LocalHeadProcessor>()

/** Opened with the first call, because most servers show finalized epochs only. */
const headProcessorOf = (network: Network): LocalHeadProcessor =>
  headProcessors.getOrInsertComputed(network, () =>
    openHeadProcessor(find(starts, network), systemClock, find(processors, network)),
  )

function find<T>(byNetwork: ReadonlyMap<Network, T>, network: Network): T {
  const found = byNetwork.get(network)
  if (!found) throw new Error(`there is no processor for ${network} on this thread`)
  return found
}

serveThread({
  run: async ({ network, method, args }: ProcessorCall, signal) => {
    const run = find(processors, network)[method] as (...args: readonly unknown[]) => Promise<unknown>
    const value = await run(...args, signal)
    return { value, transfer: method === 'processSegment' ? segmentBuffers(value as ProcessedSegment) : [] }
  },
  processHead: async ({ network, ...request }: HeadRequest & { readonly network: Network }, signal) => ({
    value: await headProcessorOf(network).process(request, signal),
  }),
  close: async () => {
    for (const processor of processors.values())
      if (Symbol.asyncDispose in processor) await processor[Symbol.asyncDispose]()
    return { value: undefined }
  },
  setWatch: async ({ network, names }: { readonly network: Network; readonly names: readonly string[] }) => {
    await find(processors, network).setWatch(names)
    starts.set(network, withWatch(find(starts, network), names))
    headProcessors.get(network)?.setWatch(names)
    return { value: undefined }
  },
})
