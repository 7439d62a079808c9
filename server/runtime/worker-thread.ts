// Calls functions on a worker thread, so that heavy work does not block requests. Buffers are transferred instead of
// copied.
//
// 1. `openThread` creates one thread. It starts with the first call, and again with the first call after it has died or
//    ended because it was idle.
// 2. Every call ends: with the result, with the error that was thrown, or with the end of the thread.
// 3. An aborted call aborts the signal of its handler and waits for it, so that no abandoned work goes on.
// 4. A background thread has a lower priority than the main thread, so that requests are handled first if there are fewer
//    cores than threads that work.
import { availableParallelism } from 'node:os'
import {
  parentPort,
  type ResourceLimits,
  type Transferable,
  Worker,
  type WorkerOptions,
  workerData,
} from 'node:worker_threads'
import { Fault } from '#core/fault.ts'
import { lowerThreadPriority } from './priority.ts'

/** Number of threads that can run at the same time. */
export const coreCount = (): number => availableParallelism()

/** `Handlers`: what the thread serves. Without it, inputs and results have no type. */
export interface WorkerThread<Handlers extends ThreadHandlers = UntypedHandlers> {
  /** The buffers in `transfer` are moved to the thread. */
  call<Name extends keyof Handlers & string>(
    name: Name,
    input: Parameters<Handlers[Name]>[0],
    signal?: AbortSignal,
    transfer?: readonly Transferable[],
  ): Promise<Awaited<ReturnType<Handlers[Name]>>['value']>
  /** Terminates the thread at once. */
  close(): Promise<void>
}

/** The result of a handler. The buffers in `transfer` are moved to the caller. */
export interface Handed<Value = unknown> {
  readonly value: Value
  readonly transfer?: readonly Transferable[]
}

export type ThreadHandlers = Readonly<Record<string, (input: never, signal: AbortSignal) => Promise<Handed>>>
type UntypedHandlers = Readonly<Record<string, (input: unknown, signal: AbortSignal) => Promise<Handed>>>

type ThreadRequest =
  | { readonly is: 'ask'; readonly id: number; readonly name: string; readonly input: unknown }
  | { readonly is: 'stop'; readonly id: number }

/** What the thread reports without a call (`sendNotice`). */
interface ThreadNotice {
  readonly is: 'notice'
  readonly value: unknown
}

type ThreadReply = { readonly id: number; readonly holdsState: boolean } & (
  | { readonly is: 'value'; readonly value: unknown }
  | { readonly is: 'error'; readonly error: SerializedError }
)

type FaultFields = Pick<
  Fault,
  'code' | 'publicMessage' | 'detail' | 'problems' | 'retryAfterMs' | 'textValues' | 'headers'
>

interface SerializedError {
  readonly name: string
  readonly message: string
  readonly stack: string | undefined
  /** Of a fault. */
  readonly fault?: FaultFields & { readonly hasCause: boolean }
}

interface Waiting {
  resolve(value: never): void
  reject(error: Error): void
}

export interface ThreadOptions {
  /** Of its heap; default: those of the process. */
  readonly resourceLimits?: ResourceLimits
  /** For work that no request waits for (4). */
  readonly isBackground?: boolean
  /** Ends the thread after this time without a call, which frees its memory, unless it holds state. Default: never. */
  readonly idleMs?: number
  /** Gets what the thread reports with `sendNotice`, in order and before the replies to later calls. */
  readonly onNotice?: (value: unknown) => void
}

interface ThreadData {
  readonly start: unknown
  readonly isBackground: boolean
}

/** The thread gets `start` from `threadStart()`. */
export function openThread<Handlers extends ThreadHandlers = UntypedHandlers>(
  file: URL,
  start: unknown,
  { resourceLimits = {}, isBackground = false, idleMs, onNotice }: ThreadOptions = {},
): WorkerThread<Handlers> {
  const waiting = new Map<number, Waiting>()
  let worker: Worker | undefined
  let nextId = 1
  let holdsState = false
  let idleTimer: NodeJS.Timeout | undefined
  /** Of the thread that was idle. */
  let termination: Promise<unknown> | undefined
  const ended = (error: Error) => {
    worker = undefined
    for (const { reject } of waiting.values()) reject(error)
    waiting.clear()
  }
  const endIdle = () => {
    termination = worker?.terminate()
    worker = undefined
  }
  /** Undefined during close(): calling unref() then could end the process before the thread has terminated. */
  const takeCall = (id: number): Waiting | undefined => {
    const call = waiting.get(id)
    if (waiting.delete(id) && waiting.size === 0) {
      worker?.unref()
      if (idleMs !== undefined && !holdsState) idleTimer = setTimeout(endIdle, idleMs).unref()
    }
    return call
  }
  const begin = (): Worker => {
    holdsState = false
    const data: ThreadData = { start, isBackground }
    const begun = createWorker(file, { workerData: data, resourceLimits })
    begun.on('message', (reply: ThreadReply | ThreadNotice) => {
      if (reply.is === 'notice') return onNotice?.(reply.value)
      holdsState = reply.holdsState
      const call = takeCall(reply.id)
      if (reply.is === 'value') call?.resolve(reply.value as never)
      else call?.reject(errorOf(reply.error))
    })
    begun.on('error', (error) => worker === begun && ended(error as Error))
    begun.on('exit', (code) => worker === begun && ended(new Error(`the thread ended with code ${code}`)))
    return begun
  }
  return {
    call(name, input, signal, transfer = []) {
      if (signal?.aborted) return Promise.reject(signal.reason)
      clearTimeout(idleTimer)
      worker ??= begin()
      const request = worker
      const id = nextId++
      const stop = () => request.postMessage({ is: 'stop', id } satisfies ThreadRequest)
      signal?.addEventListener('abort', stop, { once: true })
      request.ref()
      return new Promise<never>((resolve, reject) => {
        waiting.set(id, { resolve, reject })
        try {
          request.postMessage({ is: 'ask', id, name, input } satisfies ThreadRequest, transfer)
        } catch (error) {
          // The input cannot be cloned.
          takeCall(id)
          reject(error)
        }
      }).finally(() => signal?.removeEventListener('abort', stop))
    },
    async close() {
      clearTimeout(idleTimer)
      const closing = worker
      ended(new Error('the thread was closed'))
      await Promise.all([closing?.terminate(), termination])
    },
  }
}

/** With the options of Node that this process has now, not those that it was started with. */
function createWorker(file: URL, options: WorkerOptions): Worker {
  try {
    return new Worker(file, { ...options, execArgv: process.execArgv })
  } catch (error) {
    // Some of them are not for threads, for example --max-old-space-size. Then it inherits those that are.
    if ((error as NodeJS.ErrnoException).code !== 'ERR_WORKER_INVALID_EXEC_ARGV') throw error
    return new Worker(file, options)
  }
}

/** In the thread: the `start` of `openThread`. */
export const threadStart = <T>(): T => (workerData as ThreadData).start as T

/** In the thread: handles calls until it is closed. It holds state if a later call needs what an earlier one has kept. */
export function serveThread(handlers: ThreadHandlers, holdsState = () => false): void {
  if ((workerData as ThreadData).isBackground) lowerThreadPriority()
  const running = new Map<number, AbortController>()
  parentPort?.on('message', async (request: ThreadRequest) => {
    const { id } = request
    if (request.is === 'stop') return running.get(id)?.abort(new Error('the call was aborted'))
    const stop = new AbortController()
    running.set(id, stop)
    try {
      const handler = handlers[request.name]
      if (!handler) throw new Error(`this thread has no handler for ${request.name}`)
      const { value, transfer } = await handler(request.input as never, stop.signal)
      const reply: ThreadReply = { id, holdsState: holdsState(), is: 'value', value }
      parentPort?.postMessage(reply, [...(transfer ?? [])])
    } catch (error) {
      const reply: ThreadReply = { id, holdsState: holdsState(), is: 'error', error: serializeError(error) }
      parentPort?.postMessage(reply)
    } finally {
      running.delete(id)
    }
  })
}

/** In the thread: reports something to `onNotice`. */
export const sendNotice = (value: unknown): void =>
  parentPort?.postMessage({ is: 'notice', value } satisfies ThreadNotice)

/** Errors lose their class between threads. Faults are restored, because they determine the response. */
function serializeError(error: unknown): SerializedError {
  const { name, message, stack } = error instanceof Error ? error : new Error(String(error))
  if (!(error instanceof Fault)) return { name, message, stack }
  const { code, publicMessage, detail, problems, retryAfterMs, textValues, headers } = error
  const fault: FaultFields = { code, publicMessage, detail, problems, retryAfterMs, textValues, headers }
  return { name, message, stack, fault: { ...fault, hasCause: error.cause !== undefined } }
}

function errorOf({ name, message, stack, fault }: SerializedError): Error {
  if (fault) {
    const { code, publicMessage, retryAfterMs, hasCause, ...options } = fault
    return new Fault(code, {
      ...options,
      message: publicMessage,
      ...(retryAfterMs !== undefined && { retryAfterMs }),
      ...(hasCause && { cause: stack }),
    })
  }
  const error = new Error(message)
  error.name = name
  if (stack !== undefined) error.stack = stack
  return error
}
