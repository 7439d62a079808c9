// The door to Redis: one connection that is asked with scripts. The only file that names its library.
//
// 1. Whoever asks has an answer within `answerMs`, or hears at once that there is none. It is never an exception.
// 2. A connection that failed or was too slow once is given up; its successor is tried every `againMs` for ever.
// 3. Each connection is greeted before anybody else may use it, with the name of the server process at its other end: a
//    Redis that was restarted, or another one in its place, may have forgotten what the last one knew.
import { createHash } from 'node:crypto'
import { Redis as Client } from 'ioredis'
import { type Clock, nextEventLoopTurn } from '#runtime/clock.ts'

const replyTimeoutMs = 50
const connectTimeoutMs = 1000
const reconnectMs = 250

export interface RedisScript {
  readonly text: string
  readonly sha: string
}

export const createScript = (text: string): RedisScript => ({
  text,
  sha: createHash('sha1').update(text).digest('hex'),
})

/** The script's answer, a list of whole numbers. */
export type RunScript = (
  script: RedisScript,
  keys: readonly string[],
  values: readonly string[],
) => Promise<readonly number[]>

export interface RedisOptions {
  /** redis://user:password@host:port/number, or rediss://… for TLS. */
  readonly url: string
  readonly clock: Clock
  readonly onConnect: (run: RunScript, process: string) => Promise<unknown>
  /** Told of every change, and of the first attempt. */
  readonly reportConnected: (there: boolean, reason: string) => void
}

export class Redis {
  readonly #options: RedisOptions
  readonly #stop = new AbortController()
  #loop: Promise<void> = Promise.resolve()
  /** Set while it answers. */
  #client: Client | undefined
  #endConnection = () => {}
  #there: boolean | undefined
  #reason = ''

  /** Resolves when the first attempt has ended, well or not. */
  static async open(options: RedisOptions): Promise<Redis> {
    const redis = new Redis(options)
    const tried = Promise.withResolvers<void>()
    redis.#loop = redis.#keepConnected(tried.resolve)
    await tried.promise
    return redis
  }

  private constructor(options: RedisOptions) {
    this.#options = options
  }

  /** Undefined: there is no answer. What was asked may have been done all the same. */
  async run(...call: Parameters<RunScript>): Promise<readonly number[] | undefined> {
    const client = this.#client
    if (!client) return undefined
    try {
      return await withTimeout(this.#options.clock, replyTimeoutMs, evaluate(client, ...call))
    } catch (error) {
      this.#giveUp(client, (error as Error).message)
      return undefined
    }
  }

  async close(): Promise<void> {
    this.#stop.abort()
    this.#endConnection()
    await this.#loop
  }

  async #keepConnected(tried: () => void): Promise<void> {
    const { signal } = this.#stop
    while (!signal.aborted) {
      await this.#connectOnce(tried)
      if (signal.aborted) return
      this.#report(false)
      tried()
      await this.#options.clock.sleep(reconnectMs, signal)
    }
  }

  /** One connection, from its beginning to its end. */
  async #connectOnce(tried: () => void): Promise<void> {
    const { url, clock, onConnect } = this.#options
    const client = new Client(url, clientOptions)
    const ended = Promise.withResolvers<void>()
    this.#endConnection = ended.resolve
    client.once('end', ended.resolve)
    this.#reason = ''
    client.on('error', (error: Error) => this.#noteReason(error.message))
    try {
      await withTimeout(clock, connectTimeoutMs, connect(client, onConnect))
      if (this.#stop.signal.aborted) return
      this.#client = client
      this.#report(true)
      tried()
      await ended.promise
      this.#noteReason('the connection was closed')
    } catch (error) {
      this.#noteReason((error as Error).message)
    } finally {
      this.#client = undefined
      client.disconnect()
    }
  }

  #giveUp(client: Client, reason: string): void {
    if (client !== this.#client) return
    this.#noteReason(reason)
    this.#client = undefined
    // Its own end may come much later, when nobody is at the other side.
    this.#endConnection()
  }

  /** The first reason is the cause of the others. */
  #noteReason(reason: string): void {
    this.#reason ||= reason
  }

  #report(isConnected: boolean): void {
    if (isConnected === this.#there) return
    this.#there = isConnected
    this.#options.reportConnected(isConnected, this.#reason)
  }
}

const clientOptions = {
  lazyConnect: true,
  connectTimeout: connectTimeoutMs,
  // A connection is never mended (2), so nothing may wait for that.
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
  if (process === undefined) throw new Error('Redis does not tell its run_id in INFO; allow it')
  await onConnect((...question) => evaluate(client, ...question), process)
}

async function evaluate(
  client: Client,
  { text, sha }: RedisScript,
  keys: readonly string[],
  values: readonly string[],
) {
  try {
    return (await client.evalsha(sha, keys.length, ...keys, ...values)) as number[]
  } catch (error) {
    if (!(error as Error).message.startsWith('NOSCRIPT')) throw error
    return (await client.eval(text, keys.length, ...keys, ...values)) as number[]
  }
}

async function withTimeout<T>(clock: Clock, waitMs: number, work: Promise<T>): Promise<T> {
  const over = new AbortController()
  const late = async (): Promise<never> => {
    await clock.sleep(waitMs, over.signal)
    // A process that was busy with itself reads what has arrived meanwhile before it complains.
    await nextEventLoopTurn()
    throw new Error(`no answer within ${waitMs} ms`)
  }
  try {
    return await Promise.race([work, late()])
  } finally {
    over.abort()
  }
}
