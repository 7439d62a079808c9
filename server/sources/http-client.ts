// Outgoing HTTP requests. Every request has a time limit and a size limit. Redirects are refused, because they could send
// credentials to another host. Errors are FetchErrors for operators; of a URL they contain only the host, because
// providers put keys into every other part.
import type { ClientRequest, IncomingMessage } from 'node:http'
import { pipeline, type Readable, type Transform } from 'node:stream'
import { constants, createBrotliDecompress, createGunzip, createInflate } from 'node:zlib'
import { parseJson } from '#api/contract/json.ts'
import * as http from '#runtime/node-http.ts'

export type FetchFailure = 'address' | 'network' | 'timeout' | 'stopped' | 'redirect' | 'status' | 'size' | 'text'

export class FetchError extends Error {
  readonly failure: FetchFailure
  readonly status: number | undefined
  /** From the `retry-after` header. */
  readonly retryAfterMs: number | undefined
  /** The start of the body, if `keepsErrorText` is set. */
  readonly text: string | undefined

  constructor(
    failure: FetchFailure,
    message: string,
    options: { status?: number; retryAfterMs?: number | undefined; text?: string | undefined; cause?: unknown } = {},
  ) {
    super(message, { cause: options.cause })
    this.name = 'FetchError'
    this.failure = failure
    this.status = options.status
    this.retryAfterMs = options.retryAfterMs
    this.text = options.text
  }
}

export interface FetchOptions {
  readonly timeoutMs: number
  /** After decompression. */
  readonly bytesMax: number
  readonly signal?: AbortSignal
  readonly headers?: Readonly<Record<string, string>>
  readonly method?: 'GET' | 'HEAD' | 'POST'
  /** A POST request that changes nothing at the source. Like a GET request, it may be sent twice. */
  readonly isQuery?: true
  /** For servers that give the reason of an error only in its body. */
  readonly keepsErrorText?: true
  readonly body?: string
  /** Name of the server in errors; default: scheme and host of the URL. */
  readonly label?: string
  /** Returns the buffer for a large response; default: a new one. */
  readonly allocate?: (bytes: number) => Uint8Array
}

/** The text of a response with status 200. Anything else is a FetchError. */
export const fetchText = (address: string, options: FetchOptions): Promise<string> =>
  fetched(address, options, (response, label) => readText(response, label, options))

export interface FetchedBytes {
  readonly bytes: Uint8Array
  header(name: string): string | undefined
}

/** The bytes and headers of a response with status 200. */
export const fetchBytes = (address: string, options: FetchOptions): Promise<FetchedBytes> =>
  fetched(address, options, async (response, label) => ({
    bytes: await readBytes(response, label, options),
    header: (name) => headerOf(response, name),
  }))

/**
 * Reads a response with status 200 while it arrives. The time limit is that of the whole response, so it also ends a
 * connection on which nothing arrives any more.
 */
export const fetchStream = (
  address: string,
  options: FetchOptions,
  onChunk: (chunk: Uint8Array) => void,
): Promise<void> =>
  fetched(address, options, (response, label) => readChunks(response, label, options.bytesMax, onChunk))

/** The status of a response, from 200 to 299. Its body is not read. */
export const fetchStatus = (address: string, options: Omit<FetchOptions, 'bytesMax' | 'allocate'>): Promise<number> =>
  fetched(
    address,
    { ...options, bytesMax: 0 },
    async (response) => {
      response.destroy()
      return statusOf(response)
    },
    (status) => status >= 200 && status < 300,
  )

/** A header of a response with any status. Its body is not read. */
export const fetchHeader = (
  address: string,
  name: string,
  options: Omit<FetchOptions, 'bytesMax' | 'allocate'>,
): Promise<string | undefined> =>
  fetched(
    address,
    { ...options, bytesMax: 0 },
    async (response) => {
      response.destroy()
      return headerOf(response, name)
    },
    () => true,
  )

async function fetched<T>(
  address: string,
  options: FetchOptions,
  read: (response: IncomingMessage, label: string) => Promise<T>,
  isAccepted: (status: number) => boolean = (status) => status === 200,
): Promise<T> {
  const url = URL.parse(address)
  const label = options.label ?? cleanUrl(address)
  if (!url || !/^https?:$/.test(url.protocol)) {
    throw new FetchError('address', `${label} is not an http or https URL`)
  }
  const { request } = url.protocol === 'https:' ? await import('node:https') : http
  // Why the request was ended here. The error that follows from it is of no interest.
  let ended: FetchError | undefined
  let exchange: ClientRequest | undefined
  const { method = 'GET', isQuery = method !== 'POST' } = options
  const headers = { accept: '*/*', 'accept-encoding': 'gzip, deflate, br', 'user-agent': 'tetrad', ...options.headers }
  const send = (): Promise<IncomingMessage> =>
    new Promise((resolve, reject) => {
      const sent = request(url, { method, headers })
      exchange = sent
      sent.on('response', resolve)
      sent.on('error', (error) => {
        const isRepeated = isQuery && !ended && wasIdleConnectionClosed(sent, error)
        if (isRepeated) resolve(send())
        else reject(error)
      })
      sent.end(options.body)
    })
  const end = (error: FetchError) => {
    ended ??= error
    exchange?.destroy(ended)
  }
  const stop = () => end(new FetchError('stopped', `the request to ${label} was aborted`))
  const late = () => end(new FetchError('timeout', `${label} did not respond within ${options.timeoutMs} ms`))
  const timer = setTimeout(late, options.timeoutMs)
  options.signal?.addEventListener('abort', stop, { once: true })
  try {
    if (options.signal?.aborted) stop()
    if (ended) throw ended
    const response = await send()
    if (!isAccepted(statusOf(response))) await refuse(response, address, label, options)
    return await read(response, label)
  } catch (error) {
    throw ended ?? toFetchError(error, label)
  } finally {
    clearTimeout(timer)
    options.signal?.removeEventListener('abort', stop)
  }
}

/** The source closed an idle connection while the request was sent. This is not a failure of the source. */
const wasIdleConnectionClosed = ({ reusedSocket }: ClientRequest, { code }: NodeJS.ErrnoException): boolean =>
  reusedSocket && (code === 'ECONNRESET' || code === 'EPIPE')

const statusOf = (response: IncomingMessage): number => response.statusCode ?? 0

function headerOf({ headers }: IncomingMessage, name: string): string | undefined {
  const value = headers[name]
  return Array.isArray(value) ? value.join(', ') : value
}

/** Integers beyond 2^53 become bigint. */
export async function fetchJson(address: string, options: FetchOptions): Promise<unknown> {
  const text = await fetchText(address, options)
  try {
    return parseJson(text)
  } catch (cause) {
    throw new FetchError('text', `${options.label ?? cleanUrl(address)} did not return JSON`, { cause })
  }
}

/** If the rest of a refused response is longer or takes longer, its connection is closed. */
const discardedBytesMax = 65_536
const discardMs = 1000

async function refuse(
  response: IncomingMessage,
  address: string,
  label: string,
  { keepsErrorText }: FetchOptions,
): Promise<never> {
  const status = statusOf(response)
  const body = decoded(response).on('error', () => {})
  const text = keepsErrorText ? await readFirstChunk(body) : undefined
  discard(response, body)
  if (status >= 300 && status < 400 && status !== 304) {
    const message = `${label} redirects to ${redirectTarget(response, address)}; configure the final URL`
    throw new FetchError('redirect', message, { status })
  }
  const seconds = /^\s*(\d{1,6})\s*$/.exec(headerOf(response, 'retry-after') ?? '')?.[1]
  const retryAfterMs = seconds === undefined ? undefined : Number(seconds) * 1000
  throw new FetchError('status', `${label} returned status ${status}`, {
    status,
    retryAfterMs,
    text,
  })
}

/** The start of a text, as it arrives. */
const readFirstChunk = (body: Readable): Promise<string> =>
  new Promise((resolve) => {
    body.once('data', (chunk: Uint8Array) => resolve(new TextDecoder().decode(chunk)))
    body.once('close', () => resolve(''))
  })

/** Reads a short rest, so that the connection can be used again. Nobody waits for it. */
function discard(response: IncomingMessage, body: Readable): void {
  let bytes = 0
  body.on('data', (chunk: Uint8Array) => {
    bytes += chunk.length
    if (bytes > discardedBytesMax) response.destroy()
  })
  // A response that has ended has no connection any more.
  if (!response.complete) response.setTimeout(discardMs, () => response.destroy())
}

function redirectTarget(response: IncomingMessage, address: string): string {
  const target = headerOf(response, 'location')
  const url = target === undefined ? null : URL.parse(target, address)
  if (!url) return 'an invalid URL'
  return url.origin === URL.parse(address)?.origin ? 'another path of the same host' : cleanUrl(url.href)
}

/** Larger responses are read into one buffer. */
const largeBytes = 1024 * 1024

async function readText(response: IncomingMessage, label: string, options: FetchOptions): Promise<string> {
  const bytes = await readBytes(response, label, options)
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes)
  } catch (cause) {
    throw new FetchError('text', `${label} did not return UTF-8 text`, { cause })
  }
}

async function readBytes(
  response: IncomingMessage,
  label: string,
  { bytesMax, allocate }: FetchOptions,
): Promise<Uint8Array> {
  const length = response.headers['content-encoding'] ? 0 : Number(response.headers['content-length'] ?? 0)
  if (length > largeBytes && length <= bytesMax) return readLarge(response, label, length, allocate)
  const chunks: Uint8Array[] = []
  await readChunks(response, label, bytesMax, (chunk) => void chunks.push(chunk))
  return chunks.length === 1 ? (chunks[0] as Uint8Array) : Buffer.concat(chunks)
}

/** Into one buffer of the announced length. Concatenating chunks would need twice the memory. */
async function readLarge(
  response: IncomingMessage,
  label: string,
  length: number,
  allocate: FetchOptions['allocate'] = Buffer.allocUnsafeSlow,
): Promise<Uint8Array> {
  const bytes = allocate(length)
  let at = 0
  await readChunks(response, label, length, (chunk) => {
    bytes.set(chunk, at)
    at += chunk.length
  })
  return bytes.subarray(0, at)
}

/** Events instead of an async iterator, which takes twice as long for a small response. */
function readChunks(
  response: IncomingMessage,
  label: string,
  bytesMax: number,
  onChunk: (chunk: Uint8Array) => void,
): Promise<void> {
  return new Promise((resolve, reject) => {
    const body = decoded(response)
    let bytes = 0
    body.on('data', (chunk: Uint8Array) => {
      bytes += chunk.length
      try {
        if (bytes > bytesMax) throw new FetchError('size', `${label} returned more than ${bytesMax} bytes`)
        onChunk(chunk)
      } catch (error) {
        reject(error)
        body.removeAllListeners('data')
        response.destroy()
      }
    })
    body.on('end', resolve)
    body.on('error', reject)
    body.on('close', () => reject(new Error('the connection was closed')))
  })
}

/** The body without its compression. An unknown encoding is left as it is. */
function decoded(response: IncomingMessage): Readable {
  const decoder = createDecoder(response.headers['content-encoding']?.toLowerCase())
  return decoder ? pipeline(response, decoder, () => {}) : response
}

function createDecoder(encoding: string | undefined): Transform | undefined {
  // Some servers omit the end of a compressed stream.
  const options = { finishFlush: constants.Z_SYNC_FLUSH }
  if (encoding === 'gzip' || encoding === 'x-gzip') return createGunzip(options)
  if (encoding === 'deflate') return createInflate(options)
  return encoding === 'br' ? createBrotliDecompress({ finishFlush: constants.BROTLI_OPERATION_FLUSH }) : undefined
}

function toFetchError(error: unknown, label: string): FetchError {
  if (error instanceof FetchError) return error
  const { code, name } = error as NodeJS.ErrnoException
  return new FetchError('network', `${label} cannot be reached (${code ?? name})`, { cause: error })
}

/**
 * Scheme, host and port of a URL, for logs and errors. Keys may be in the user, the path or the query
 * (behaviour/http.md#urls-of-nodes-and-sources).
 */
export function cleanUrl(address: string): string {
  const url = URL.parse(address)
  if (!url) return 'the URL'
  const isMore = url.pathname.length > 1 || url.search !== ''
  return `${url.protocol}//${url.host}${isMore ? '/…' : ''}`
}

/** Equal names get their number in the list. */
export function cleanUrls(addresses: readonly string[]): readonly string[] {
  const names = addresses.map(cleanUrl)
  return names.map((name, at) =>
    names.indexOf(name) === names.lastIndexOf(name) ? name : `${name} (number ${at + 1})`,
  )
}
