// Runs scripts in Redis over one connection. The only file that imports the Redis library.
//
// 1. A call returns the reply within `replyTimeoutMs`, or undefined. It never throws.
// 2. A connection that fails or is too slow once is closed. A new one is tried every `reconnectMs`.
// 3. `onConnect` runs before any other call on a connection and gets the run id of the Redis process: after a restart or
//    a failover, Redis may have lost its data.
import type { Redis as Client } from 'ioredis'
import { type Clock, withTimeout } from '#runtime/clock.ts'

const replyTimeoutMs = 50
const connectTimeoutMs = 1000
const reconnectMs = 250

/** Scripts return a list of integers. */
export type RunScript = (
  script: string,
  keys: readonly string[],
  values: readonly string[],
) => Promise<readonly number[]>

export interface RedisOptions {
  /** redis://user:password@host:port/number, or rediss://… for TLS. */
  readonly url: string
  readonly clock: Clock
  readonly onConnect: (run: RunScript, process: string) => Promise<unknown>
  /** Called after the first attempt and on every change. */
  readonly reportConnected: (isConnected: boolean, reason: string) => void
}

/** Resolves after the first attempt to connect, successful or not. */
export async function openRedis({ url, clock, onConnect, reportConnected }: RedisOptions) {
  const stop = new AbortController()
  const tried = Promise.withResolvers<void>()
  /** Set while it is connected. */
  let connected: Client | undefined
  let endConnection = () => {}
  let wasConnected: boolean | undefined
  let reason = ''

  async function keepConnected(): Promise<void> {
    while (!stop.signal.aborted) {
      await connectOnce()
      if (stop.signal.aborted) return
      report(false)
      await clock.sleep(reconnectMs, stop.signal)
    }
  }

  /** Resolves when the connection has ended. */
  async function connectOnce(): Promise<void> {
    // Loaded here, because most servers do not use Redis.
    const { Redis } = await import('ioredis')
    const client = new Redis(url, clientOptions)
    const ended = Promise.withResolvers<void>()
    endConnection = ended.resolve
    client.once('end', ended.resolve)
    reason = ''
    client.on('error', (error: Error) => noteReason(error.message))
    try {
      await withTimeout(clock, connectTimeoutMs, connect(client, onConnect))
      if (stop.signal.aborted) return
      connected = client
      report(true)
      await ended.promise
      noteReason('the connection was closed')
    } catch (error) {
      noteReason((error as Error).message)
    } finally {
      connected = undefined
      client.disconnect()
    }
  }

  /** Keeps the first reason, which caused the others. */
  function noteReason(text: string): void {
    reason ||= text
  }

  function report(isConnected: boolean): void {
    if (isConnected !== wasConnected) reportConnected(isConnected, reason)
    wasConnected = isConnected
    tried.resolve()
  }

  const loop = keepConnected()
  await tried.promise
  return {
    /** Undefined without a reply. The script may have run nevertheless. */
    async run(...call: Parameters<RunScript>): Promise<readonly number[] | undefined> {
      const client = connected
      if (!client) return undefined
      try {
        return await withTimeout(clock, replyTimeoutMs, evaluate(client, ...call))
      } catch (error) {
        if (client !== connected) return undefined
        noteReason((error as Error).message)
        connected = undefined
        // Its `end` event may come much later if the other side is gone.
        endConnection()
        return undefined
      }
    },
    async close(): Promise<void> {
      stop.abort()
      endConnection()
      await loop
    },
  }
}

const clientOptions = {
  lazyConnect: true,
  connectTimeout: connectTimeoutMs,
  // The library must not reconnect or queue (2).
  retryStrategy: () => null,
  enableOfflineQueue: false,
  maxRetriesPerRequest: 0,
  enableReadyCheck: false,
  disableClientInfo: true,
  connectionName: 'tetrad',
}

async function connect(client: Client, onConnect: RedisOptions['onConnect']): Promise<void> {
  await client.connect()
  const [, process] = /^run_id:(\w+)/m.exec(await client.info('server')) ?? []
  if (process === undefined) throw new Error('INFO of Redis has no run_id; allow the command INFO')
  await onConnect((...call) => evaluate(client, ...call), process)
}

type Command = (...values: readonly (string | number)[]) => Promise<number[]>

/** The library sends the text of a script once for each connection, and then its hash. */
function evaluate(client: Client, ...[script, keys, values]: Parameters<RunScript>): Promise<readonly number[]> {
  const commands = client as unknown as Record<string, Command | undefined>
  if (!commands[script]) client.defineCommand(script, { lua: script })
  return (commands[script] as Command).call(client, keys.length, ...keys, ...values)
}
