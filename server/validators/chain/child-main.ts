// The main file of a chain process. It sets the constants of the network and only then imports what depends on them.
import { Worker } from 'node:worker_threads'
import { lowerProcessPriority } from '#runtime/priority.ts'
import type { Chain } from './chain.ts'
import type { ChainReply, ChainRequest, ChainStart, Cursor } from './messages.ts'
import { setPreset } from './network-preset.ts'

let chains: Promise<(cursor: Cursor) => Chain> | undefined
/** Calls run one after another. */
let queue: Promise<unknown> = Promise.resolve()

const reply = (message: ChainReply): void => void process.send?.(message)

async function open(start: ChainStart): Promise<(cursor: Cursor) => Chain> {
  setPreset(start.spec)
  const { createChains } = await import('./chain.ts')
  return createChains(start)
}

async function handle(request: ChainRequest): Promise<void> {
  const id = request.is === 'call' ? request.id : undefined
  try {
    if (request.is === 'start') {
      chains = open(request.start)
      await chains
      return reply({ is: 'ready' })
    }
    if (!chains) throw new Error('the chain process was not started')
    const handlers = (await chains)(request.cursor) as unknown as Record<string, (input: unknown) => unknown>
    reply({ is: 'value', id: request.id, value: await handlers[request.name]?.(request.input) })
  } catch (error) {
    const { name, message, stack } = error instanceof Error ? error : new Error(String(error))
    reply({ is: 'error', id, name, message, ...(stack !== undefined && { stack }) })
  }
}

// The native library can hang in a call. Then only another thread can notice that the server is gone.
new Worker(new URL('./watch-server.ts', import.meta.url), { workerData: process.ppid }).unref()
process.on('disconnect', () => process.exit())
lowerProcessPriority()
process.on('message', (request: ChainRequest) => {
  queue = queue.then(() => handle(request))
})
