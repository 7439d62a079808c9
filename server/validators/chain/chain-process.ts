// Starts the chain process of a network, calls it, and starts it again after it has died.
//
// 1. A call that takes too long ends the process: the native library can hang, and nothing inside can interrupt it.
// 2. After a start, `restore` loads a state before any other call runs. Blocks after that state must be processed again;
//    `unknown-parent` is how the caller finds out.
//    A death is always reported: the calls that waited fail, or else the next one.
// 3. Three deaths within ten minutes stop the process for good. Every call then fails with the same ChainStoppedError.
import { type ChildProcess, fork } from 'node:child_process'
import type { Clock } from '#runtime/clock.ts'
import type { ChainReply, ChainRequest, ChainStart, Cursor, InputOf, OperationName, OutputOf } from './messages.ts'

const deathsMax = 3
const deathsWithinMs = 600_000
/** Of calls without a limit of their own. Loading a large state takes a minute, and many times that on a busy machine. */
const callMsMax = 900_000

/** Limits the young generation. A network of 100 validators then takes 165 MiB instead of 230 MiB. */
const smallHeap = '--max-semi-space-size=4'

const blockMs = 10_000

/** The limit of `processBlock`. `epochs`: those between the block and its parent. */
export const blockTimeoutMs = (epochs: number): number => blockMs * (1 + Math.max(0, epochs))

/** The process has died during the call, or because of it. The next call starts it again. */
export class ChainProcessError extends Error {
  override readonly name: string = 'ChainProcessError'
}

/** The process has died too often. */
export class ChainStoppedError extends ChainProcessError {
  override readonly name = 'ChainStoppedError'
}

export interface ChainCaller {
  call<Name extends OperationName>(name: Name, input: InputOf<Name>, options?: CallOptions): Promise<OutputOf<Name>>
}

interface CallOptions {
  readonly timeoutMs?: number
  /** What the call is about, for the reason of a death. */
  readonly about?: string
  /** Default: that of the head. */
  readonly cursor?: Cursor
}

/** All calls are those of one cursor. */
export const callerOf = (process: ChainCaller, cursor: Cursor): ChainCaller => ({
  call: (name, input, options) => process.call(name, input, { ...options, cursor }),
})

export interface ChainProcessOptions {
  readonly start: ChainStart
  readonly clock: Clock
  /** Loads the state to continue from, after each start. */
  readonly restore: (process: ChainCaller) => Promise<void>
  /** Megabytes of its heap, for a large network in TypeScript. Undefined: the default of Node, in little memory. */
  readonly heapMb?: number | undefined
  readonly onDeath?: (reason: string) => void
}

export interface ChainProcess extends ChainCaller, AsyncDisposable {
  /** Process id; undefined while it does not run. */
  readonly pid: number | undefined
}

interface Waiting {
  readonly what: string
  resolve(value: unknown): void
  reject(error: Error): void
  stopTimer(): void
}

export function openChainProcess(options: ChainProcessOptions): ChainProcess {
  const { clock, start, restore, heapMb, onDeath } = options
  const deaths: number[] = []
  let running: Promise<RunningChild> | undefined
  let child: RunningChild | undefined
  let stopped: ChainStoppedError | undefined
  let isClosed = false
  let unreported: ChainProcessError | undefined

  const onExit = (ended: RunningChild, { message }: ChainProcessError, reason: string, waiting: number): void => {
    if (child === ended) child = running = undefined
    if (isClosed) return
    if (waiting === 0) unreported = new ChainProcessError(message)
    deaths.push(clock.monotonicMs())
    onDeath?.(reason)
    const recent = deaths.filter((at) => at > clock.monotonicMs() - deathsWithinMs)
    if (recent.length >= deathsMax)
      stopped = new ChainStoppedError(
        `the chain process has ended ${recent.length} times in ten minutes, last: ${reason}`,
      )
  }
  const begin = async (): Promise<RunningChild> => {
    const begun = startChild({ start, clock, heapMb, onExit })
    child = begun
    await begun.ready
    await restore(begun)
    return begun
  }
  return {
    get pid() {
      return child?.pid
    },
    async call(name, input, options) {
      if (isClosed) throw new ChainProcessError('the chain process was closed')
      if (stopped) throw stopped
      if (unreported) {
        const error = unreported
        unreported = undefined
        throw error
      }
      running ??= begin()
      const current = running
      try {
        return await (await current).call(name, input, options)
      } catch (error) {
        if (error instanceof ChainProcessError) unreported = undefined
        // A failed start is repeated with the next call.
        if (running === current && (await isFailed(current))) {
          running = undefined
          await child?.close()
          child = undefined
        }
        throw stopped ?? error
      }
    },
    async [Symbol.asyncDispose]() {
      isClosed = true
      await child?.close()
    },
  }
}

const isFailed = (promise: Promise<unknown>): Promise<boolean> =>
  promise.then(
    () => false,
    () => true,
  )

interface RunningChild extends ChainCaller {
  readonly pid: number | undefined
  readonly ready: Promise<void>
  close(): Promise<void>
}

interface ChildOptions extends Pick<ChainProcessOptions, 'start' | 'clock' | 'heapMb'> {
  onExit(child: RunningChild, error: ChainProcessError, reason: string, waiting: number): void
}

function startChild({ start, clock, heapMb, onExit }: ChildOptions): RunningChild {
  const waiting = new Map<number, Waiting>()
  let nextId = 1
  let reason: string | undefined
  let death: ChainProcessError | undefined
  let isClosing = false
  const process = fork(new URL('./child-main.ts', import.meta.url), {
    serialization: 'advanced',
    execArgv: [heapMb === undefined ? smallHeap : `--max-old-space-size=${heapMb}`],
  })
  const { promise: ready, resolve: isReady, reject: hasFailed } = Promise.withResolvers<void>()
  const exited = new Promise<void>((resolve) => process.once('close', () => resolve()))
  // `ready` may fail without a call that waits for it.
  ready.catch(() => {})

  const settle = (id: number): Waiting | undefined => {
    const call = waiting.get(id)
    waiting.delete(id)
    call?.stopTimer()
    return call
  }
  const running: RunningChild = {
    pid: process.pid,
    ready,
    call: (name, input, { timeoutMs = callMsMax, cursor = 'head', about } = {}) => {
      if (death) return Promise.reject(death)
      const id = nextId++
      return new Promise((resolve, reject) => {
        const what = about === undefined ? name : `${name} of ${about}`
        const stopTimer = clock.every(timeoutMs, () => end(process, `${what} took more than ${timeoutMs} ms`))
        waiting.set(id, { what, resolve: resolve as (value: unknown) => void, reject, stopTimer })
        try {
          send({ is: 'call', id, cursor, name, input })
        } catch (error) {
          // The input cannot be cloned.
          settle(id)
          reject(error)
        }
      })
    },
    async close() {
      reason ??= 'it was closed'
      isClosing = true
      process.kill('SIGKILL')
      await exited
    },
  }
  const end = (child: ChildProcess, why: string): void => {
    reason ??= why
    child.kill('SIGKILL')
  }
  const send = (request: ChainRequest): void =>
    void process.send(request, (error) => error && end(process, `a message could not be sent: ${error.message}`))

  process.on('message', (reply: ChainReply) => {
    if (reply.is === 'ready') return isReady()
    const call = reply.id === undefined ? undefined : settle(reply.id)
    if (reply.is === 'value') return call?.resolve(reply.value)
    const { name, message, stack } = reply
    const error = Object.assign(new Error(message), { name }, stack !== undefined && { stack })
    if (reply.id === undefined) hasFailed(error)
    call?.reject(error)
  })
  process.on('error', (error) => {
    reason ??= error.message
  })
  process.on('exit', (code, signal) => {
    // Calls run one after another.
    const [current] = waiting.values()
    const during = current ? ` during ${current.what}` : ''
    const why = reason ?? `it ended with ${signal ?? `code ${code}`}${during}`
    const error = new ChainProcessError(`the chain process has ended: ${why}`)
    death = error
    hasFailed(error)
    if (!isClosing) onExit(running, error, why, waiting.size)
    for (const id of [...waiting.keys()]) settle(id)?.reject(error)
  })
  try {
    send({ is: 'start', start })
  } catch (error) {
    end(process, (error as Error).message)
  }
  return running
}
