// A process that runs servers for test/whole-system.ts and can be killed at any time. It takes one call per message.
import { subscribe } from 'node:diagnostics_channel'
import { appendFileSync } from 'node:fs'
import type { ClientRequest } from 'node:http'
import { flushCompileCache } from 'node:module'
import { Worker } from 'node:worker_threads'
import { nextEventLoopTurn } from '#runtime/clock.ts'
import { openLog } from '#runtime/log.ts'
import { type RunningServer, startServer } from '#server/app.ts'
import type { AppContext } from '#server/context.ts'
import type { State, StateWriter, WriteOptions } from '#storage/state.ts'
import { settingsWith } from './context.ts'
import { DrivenClock } from './driven-clock.ts'

export interface HostCalls {
  start(input: ServerStart): Promise<{ readonly url: string }>
  /** Moves the clocks of all servers. */
  move(input: ClockPosition): Promise<void>
  /** Kills the process at a commit point, counted from 1. */
  killAtCommit(input: { readonly point: number }): Promise<void>
  stop(input: { readonly name: string }): Promise<void>
  /** How many requests to sources, calls of threads and transactions are under way. */
  busy(input: object): Promise<{ readonly requests: number; readonly calls: number; readonly writes: number }>
}

export interface ServerStart {
  readonly name: string
  /** As in tetrad.yaml. */
  readonly settings: object
  readonly dataDir: string
  readonly logFile: string
}

export interface ClockPosition {
  readonly aheadMs: number
  readonly wrongByMs: number
}

/** Requests that this thread has sent to sources, without streams of events. */
const requests = new Set<object>()
subscribe('http.client.request.start', (message) => {
  const { request } = message as { request: ClientRequest }
  if (request.path.includes('/events')) return
  requests.add(request)
  request.once('close', () => requests.delete(request))
})

/** Calls of threads without a reply. */
const threadCalls = new Map<Worker, Set<number>>()
process.on('worker', (worker: Worker) => {
  worker.on('message', ({ id }: { id: number }) => threadCalls.get(worker)?.delete(id))
  worker.on('exit', () => threadCalls.delete(worker))
})
const { postMessage } = Worker.prototype
Worker.prototype.postMessage = function (this: Worker, message: { is?: string; id: number }, ...more: never[]) {
  if (message.is === 'ask') threadCalls.getOrInsertComputed(this, () => new Set()).add(message.id)
  return postMessage.call(this, message, ...more)
}

let writes = 0
const servers = new Map<string, RunningServer>()
/** A new one while no server runs. With a server, it only goes forward. */
let clock: DrivenClock | undefined
let pointsLeft = Number.POSITIVE_INFINITY

function passCommitPoint(): void {
  pointsLeft -= 1
  if (pointsLeft === 0) process.kill(process.pid, 'SIGKILL')
}

/** Duties are written on another thread, so their points are before and after the transaction. */
function addCommitPoints({ state, ingest, duties }: AppContext): void {
  // On PostgreSQL, state and ingest are one object.
  for (const store of new Set([state, ingest])) addStatePoints(store)
  const { update } = duties
  Object.assign(duties, {
    update: async (...input: Parameters<typeof update>) => {
      passCommitPoint()
      const result = await update(...input)
      passCommitPoint()
      return result
    },
  })
}

function addStatePoints(state: State): void {
  const { write } = state
  Object.assign(state, {
    write: async (work: (tx: StateWriter) => Promise<unknown>, options?: WriteOptions) => {
      writes += 1
      try {
        const result = await write(async (tx) => {
          const done = await work(tx)
          passCommitPoint()
          return done
        }, options)
        passCommitPoint()
        return result
      } finally {
        writes -= 1
      }
    },
  })
}

const calls: HostCalls = {
  async start({ name, settings, dataDir, logFile }) {
    const server = await startServer({
      ...{ settings: settingsWith(settings), dataDir, ...(clock && { clock }) },
      log: openLog('info', (line) => appendFileSync(logFile, line.endsWith('\n') ? line : `${line}\n`)),
      beforeStart: async (context) => addCommitPoints(context),
    })
    servers.set(name, server)
    return { url: server.url }
  },
  async move({ aheadMs, wrongByMs }) {
    if (servers.size === 0 || !clock) clock = new DrivenClock(aheadMs)
    clock.wrongByMs = wrongByMs
    clock.moveTo(aheadMs)
  },
  async killAtCommit({ point }) {
    pointsLeft = point
  },
  async stop({ name }) {
    const server = servers.get(name)
    servers.delete(name)
    await server?.close()
    // A killed process does not write its cache, so that the next one would compile everything again.
    flushCompileCache()
  },
  async busy() {
    for (let tick = 0; tick < 10; tick++) await nextEventLoopTurn()
    const calls = [...threadCalls.values()].reduce((sum, ids) => sum + ids.size, 0)
    return { requests: requests.size, calls, writes }
  },
}

process.on('message', async ({ id, name, input }: { id: number; name: keyof HostCalls; input: never }) => {
  try {
    process.send?.({ id, result: await calls[name](input) })
  } catch (error) {
    process.send?.({ id, error: error instanceof Error ? error.stack : String(error) })
  }
})
process.on('disconnect', () => process.exit())
process.send?.('up')
