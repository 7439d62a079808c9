// The main file of a chain process. It sets the constants of the network and only then imports what depends on them.
import { Worker } from 'node:worker_threads'
import { lowerProcessPriority } from '#runtime/priority.ts'
import type { Chain } from './chain.ts'
import type { ChainReply, ChainRequest, ChainStart } from './messages.ts'
import { setPreset } from './network-preset.ts'

let chain: Promise<Chain> | undefined
/** Calls run one after another. */
let queue: Promise<unknown> = Promise.resolve()

const reply = (message: ChainReply): void => void process.send?.(message)

async function open(start: ChainStart): Promise<Chain> {
  setPreset(start.spec)
  const { Chain } = await import('./chain.ts')
  return new Chain(start)
}

async function handle(request: ChainRequest): Promise<void> {
  const id = request.is === 'call' ? request.id : undefined
  try {
    if (request.is === 'start') {
      chain = open(request.start)
      await chain
      return reply({ is: 'ready' })
    }
    if (!chain) throw new Error('the chain process was not started')
    const handlers = (await chain) as unknown as Record<string, (input: unknown) => unknown>
    reply({ is: 'value', id: request.id, value: await handlers[request.name]?.(request.input) })
  } catch (error) {
    const { message, stack } = error instanceof Error ? error : new Error(String(error))
    reply({ is: 'error', id, message, ...(stack !== undefined && { stack }) })
  }
}

// The native library can hang in a call. Then only another thread can notice that the server is gone.
new Worker(new URL('./watch-server.ts', import.meta.url), { workerData: process.ppid }).unref()
process.on('disconnect', () => process.exit())
lowerProcessPriority()
process.on('message', (request: ChainRequest) => {
  queue = queue.then(() => handle(request))
})
