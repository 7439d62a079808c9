// The way to ClickHouse: its HTTP interface through the official client.
//
// 1. A question is put to another host, and to all of them again for a while, when the one asked cannot answer it. Anything that changes
//    something is sent once, to the host that answered last: whoever sent it must know what a lost answer may mean.
// 2. An answer is sent when the query is over (`wait_end_of_query`), so an error never hides in the middle of rows.
// 3. External tables go as parts of a form beside the SQL, which the client does not offer by itself.
import { strict as assert } from 'node:assert'
import { randomUUID } from 'node:crypto'
import { Readable } from 'node:stream'
import { text } from 'node:stream/consumers'
import { ClickHouseLogLevel, createClient } from '@clickhouse/client'
import { systemClock } from '#io/clock.ts'
import { mayPass, renameAnswer } from './clickhouse-faults.ts'
import type { Place } from './clickhouse-place.ts'

type Client = ReturnType<typeof createClient>

export interface External {
  readonly name: string
  /** `id Int32`, … */
  readonly structure: string
  /** Tab-separated lines. */
  readonly lines: string
}

export interface Ask {
  readonly sql: string
  readonly externals?: readonly External[]
  /** What follows an `insert … format …`. */
  readonly body?: Uint8Array
  readonly settings?: Readonly<Record<string, string | number>>
  /** Ends a question whose asker has gone. */
  readonly signal?: AbortSignal | undefined
}

const againMs = 200
const requestMs = 120_000
const connections = 10

export class Door {
  readonly #clients: readonly Client[]
  readonly #patienceMs: number
  #at = 0

  /** `patienceMs`: how long a question waits for a host that can answer it. */
  constructor({ hosts, user, password, database }: Place, patienceMs: number) {
    this.#patienceMs = patienceMs
    this.#clients = hosts.map((url) =>
      createClient({
        url,
        username: user,
        password,
        database,
        request_timeout: requestMs,
        max_open_connections: connections,
        keep_alive: { enabled: true, idle_socket_ttl: 1500 },
        log: { level: ClickHouseLogLevel.OFF },
      }),
    )
  }

  /** Invariant 1: may be asked anywhere, any number of times. */
  async read(ask: Ask): Promise<string> {
    const untilMs = systemClock.monotonicMs() + this.#patienceMs
    for (let tries = 1; ; tries += 1) {
      ask.signal?.throwIfAborted()
      const at = this.#at
      try {
        return await this.#send(at, ask)
      } catch (error) {
        ask.signal?.throwIfAborted()
        if (!mayPass(error) || systemClock.monotonicMs() >= untilMs) throw error
        // Somebody else may have moved on already.
        if (this.#at === at) this.#at = (at + 1) % this.#clients.length
        if (tries % this.#clients.length === 0) await systemClock.sleep(againMs)
      }
    }
  }

  /** Invariant 1: once. */
  async change(ask: Ask): Promise<void> {
    await this.#send(this.#at, ask)
  }

  async close(): Promise<void> {
    await Promise.all(this.#clients.map((client) => client.close()))
  }

  async #send(at: number, { sql, externals = [], body, settings = {}, signal }: Ask): Promise<string> {
    const client = this.#clients[at] as Client
    const common = {
      clickhouse_settings: { ...settings, wait_end_of_query: 1 as const },
      ...(signal && { abort_signal: signal }),
    }
    try {
      const { stream } = await (externals.length > 0
        ? client.exec({ ...common, ...formOf(sql, externals) })
        : body
          ? client.exec({ ...common, query: sql, values: Readable.from([body], { objectMode: false }) })
          : client.exec({ ...common, query: sql }))
      return await text(stream)
    } catch (error) {
      throw renameAnswer(error)
    }
  }
}

/** Invariant 3. The statement is a part as well: an address has not room for all of it. */
function formOf(sql: string, externals: readonly External[]) {
  const boundary = randomUUID()
  const part = (head: string, content: string) =>
    `--${boundary}\r\nContent-Disposition: form-data; name=${head}\r\n\r\n${content}\r\n`
  const parts = [
    part('"query"', sql),
    ...externals.map(({ name, structure }) => part(`"${name}_structure"`, structure)),
    ...externals.map(({ name, lines }) => part(`"${name}"; filename="${name}"`, lines)),
  ]
  assert(!sql.includes(boundary))
  return {
    query: '',
    values: Readable.from([Buffer.from(`${parts.join('')}--${boundary}--\r\n`)], { objectMode: false }),
    http_headers: { 'Content-Type': `multipart/form-data; boundary=${boundary}` },
  }
}
