// The thread that processes the epochs of all networks of a server. It opens no store: it transfers its columns to the
// thread that writes duties.
import type { Network } from '#api/contract/wire/validators.ts'
import { serveThread, threadStart } from '#runtime/worker-thread.ts'
import { type ProcessedSegment, segmentBuffers } from '../epochs/processed-segment.ts'
import type { HeadRequest } from '../provisional/head-processor.ts'
import {
  type EpochProcessorStart,
  type LocalProcessors,
  openLocalProcessors,
  type ProcessorCall,
} from './open-processors.ts'

const starts = threadStart<readonly EpochProcessorStart[]>()
const processors = new Map(starts.map((start) => [start.network, openLocalProcessors(start)]))

function find(byNetwork: typeof processors, network: Network): LocalProcessors {
  const found = byNetwork.get(network)
  if (!found) throw new Error(`there is no processor for ${network} on this thread`)
  return found
}

const handlers = {
  run: async ({ network, method, args }: ProcessorCall, signal: AbortSignal) => {
    const run = find(processors, network).epochs[method] as (...args: readonly unknown[]) => Promise<unknown>
    const value = await run(...args, signal)
    return { value, transfer: method === 'processSegment' ? segmentBuffers(value as ProcessedSegment) : [] }
  },
  processHead: async ({ network, ...request }: HeadRequest & { readonly network: Network }, signal: AbortSignal) => ({
    value: await find(processors, network).head.process(request, signal),
  }),
  close: async () => {
    for (const processor of processors.values()) await processor[Symbol.asyncDispose]()
    return { value: undefined }
  },
  setWatch: async ({ network, names }: { readonly network: Network; readonly names: readonly string[] }) => {
    const { epochs, head } = find(processors, network)
    await epochs.setWatch(names)
    head.setWatch(names)
    return { value: undefined }
  },
}

export type ProcessorHandlers = typeof handlers

serveThread(handlers)
