// Sends statements to ClickHouse over its HTTP interface. Errors contain the reason that ClickHouse gives, and never the
// password.
import { FetchError, fetchText } from '#sources/http-client.ts'

const statementTimeoutMs = 60_000
/** The validators of one day: 1 to 8 digits each. */
const responseBytesMax = 64 * 1024 * 1024
const reasonCharsMax = 300

export class ClickhouseError extends Error {
  constructor(message: string, cause: unknown) {
    super(message, { cause })
    this.name = 'ClickhouseError'
  }
}

export interface ClickhouseClient {
  /** The response as text, in the format that the statement names. */
  run(statement: string, signal?: AbortSignal): Promise<string>
  /** `rows`: lines of tab-separated values. */
  insert(table: string, columns: readonly string[], rows: string, signal?: AbortSignal): Promise<void>
}

/** `address`: mirrors.clickhouse.url. */
export function openClickhouse(address: string): ClickhouseClient {
  const url = new URL(address)
  const database = url.pathname.replaceAll('/', '') || 'default'
  const label = `ClickHouse at ${url.host}`
  const headers = {
    'x-clickhouse-user': decodeURIComponent(url.username) || 'default',
    'x-clickhouse-key': decodeURIComponent(url.password),
    // Requests are few and far apart. ClickHouse may have closed a connection that was kept.
    connection: 'close',
  }
  const send = async (parameters: Record<string, string>, body: string, signal?: AbortSignal): Promise<string> => {
    const query = new URLSearchParams({ database, ...parameters })
    const limits = { timeoutMs: statementTimeoutMs, bytesMax: responseBytesMax, ...(signal && { signal }) }
    try {
      const options = { ...limits, method: 'POST', headers, body, label, keepsErrorText: true } as const
      return await fetchText(`${url.protocol}//${url.host}/?${query}`, options)
    } catch (error) {
      if (!(error instanceof FetchError) || error.failure !== 'status') throw error
      const [reason = ''] = (error.text ?? '').trim().split('\n')
      throw new ClickhouseError(`${error.message}: ${reason.slice(0, reasonCharsMax)}`, error)
    }
  }
  return {
    run: (statement, signal) => send({}, statement, signal),
    insert: async (table, columns, rows, signal) => {
      await send({ query: `insert into ${table} (${columns.join(', ')}) format TabSeparated` }, rows, signal)
    },
  }
}
