// Outgoing HTTP requests. Every request has a time limit and a size limit. Redirects are refused, because they could send
// credentials to another host. Errors are FetchErrors for operators; of a URL they contain only the host, because
// providers put keys into every other part.
import { parseJson } from '#api/json.ts'

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
  readonly method?: 'GET' | 'POST'
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
  fetched(address, options, (response, shown) => readText(response, shown, options.bytesMax))

export interface FetchedBytes {
  readonly bytes: Uint8Array
  header(name: string): string | undefined
}

/** The bytes and headers of a response with status 200. */
export const fetchBytes = (address: string, options: FetchOptions): Promise<FetchedBytes> =>
  fetched(address, options, async (response, shown) => ({
    bytes: await readBytes(response, shown, options),
    header: (name) => response.headers.get(name) ?? undefined,
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
  fetched(address, options, async (response, label) => {
    for await (const chunk of chunksOf(response, label, options.bytesMax)) onChunk(chunk)
  })

/** The status of a response, from 200 to 299. Its body is not read. */
export const fetchStatus = (address: string, options: Omit<FetchOptions, 'bytesMax' | 'allocate'>): Promise<number> =>
  fetched(
    address,
    { ...options, bytesMax: 0 },
    async (response) => {
      await response.body?.cancel()
      return response.status
    },
    (status) => status >= 200 && status < 300,
  )

async function fetched<T>(
  address: string,
  options: FetchOptions,
  read: (response: Response, label: string) => Promise<T>,
  isAccepted: (status: number) => boolean = (status) => status === 200,
): Promise<T> {
  const url = URL.parse(address)
  const label = options.label ?? cleanUrl(address)
  if (!url || !/^https?:$/.test(url.protocol)) {
    throw new FetchError('address', `${label} is not an http or https URL`)
  }
  const headers = new Headers(options.headers)
  // fetch refuses URLs with a user name. Send it as a header instead.
  if (url.username || url.password) headers.set('authorization', basic(url))
  url.username = ''
  url.password = ''
  const deadline = AbortSignal.timeout(options.timeoutMs)
  const signal = options.signal ? AbortSignal.any([options.signal, deadline]) : deadline
  try {
    const response = await fetch(url, {
      method: options.method ?? 'GET',
      headers,
      signal,
      redirect: 'manual',
      ...(options.body !== undefined && { body: options.body }),
    })
    if (!isAccepted(response.status)) await refuse(response, address, label, options)
    return await read(response, label)
  } catch (error) {
    throw toFetchError(error, label, options, deadline)
  }
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

async function refuse(
  response: Response,
  address: string,
  label: string,
  { keepsErrorText }: FetchOptions,
): Promise<never> {
  const { status } = response
  const reader = response.body?.getReader()
  const text = keepsErrorText ? new TextDecoder().decode((await reader?.read())?.value) : undefined
  await reader?.cancel()
  if (status >= 300 && status < 400 && status !== 304) {
    const message = `${label} redirects to ${redirectTarget(response, address)}; configure the final URL`
    throw new FetchError('redirect', message, { status })
  }
  const seconds = /^\s*(\d{1,6})\s*$/.exec(response.headers.get('retry-after') ?? '')?.[1]
  const retryAfterMs = seconds === undefined ? undefined : Number(seconds) * 1000
  throw new FetchError('status', `${label} returned status ${status}`, { status, retryAfterMs, text })
}

function redirectTarget(response: Response, address: string): string {
  const target = response.headers.get('location')
  const url = target === null ? null : URL.parse(target, address)
  if (!url) return 'an invalid URL'
  return url.origin === URL.parse(address)?.origin ? 'another path of the same host' : cleanUrl(url.href)
}

/** Larger responses are read into one buffer. */
const largeBytes = 1024 * 1024

async function readText(response: Response, label: string, bytesMax: number): Promise<string> {
  const decoder = new TextDecoder('utf-8', { fatal: true })
  let text = ''
  for await (const chunk of chunksOf(response, label, bytesMax)) text += decodeText(decoder, label, chunk)
  return text + decodeText(decoder, label)
}

async function readBytes(response: Response, label: string, { bytesMax, allocate }: FetchOptions): Promise<Uint8Array> {
  const length = response.headers.has('content-encoding') ? 0 : Number(response.headers.get('content-length') ?? 0)
  if (length > largeBytes && length <= bytesMax) return readLarge(response, label, length, allocate)
  const chunks: Uint8Array[] = []
  for await (const chunk of chunksOf(response, label, bytesMax)) chunks.push(chunk)
  return chunks.length === 1 ? (chunks[0] as Uint8Array) : Buffer.concat(chunks)
}

/** Into one buffer of the announced length. Concatenating chunks would need twice the memory. */
async function readLarge(
  response: Response,
  label: string,
  length: number,
  allocate: FetchOptions['allocate'] = Buffer.allocUnsafeSlow,
): Promise<Uint8Array> {
  const bytes = allocate(length)
  let at = 0
  for await (const chunk of chunksOf(response, label, length)) {
    bytes.set(chunk, at)
    at += chunk.length
  }
  return bytes.subarray(0, at)
}

async function* chunksOf(response: Response, label: string, bytesMax: number): AsyncGenerator<Uint8Array> {
  let bytes = 0
  // An exception inside the loop cancels the rest of the body.
  for await (const chunk of response.body ?? []) {
    bytes += chunk.length
    if (bytes > bytesMax) {
      throw new FetchError('size', `${label} returned more than ${bytesMax} bytes`)
    }
    yield chunk
  }
}

function decodeText(decoder: TextDecoder, label: string, chunk?: Uint8Array): string {
  try {
    return chunk ? decoder.decode(chunk, { stream: true }) : decoder.decode()
  } catch (cause) {
    throw new FetchError('text', `${label} did not return UTF-8 text`, { cause })
  }
}

function toFetchError(error: unknown, label: string, options: FetchOptions, deadline: AbortSignal): FetchError {
  if (error instanceof FetchError) return error
  if (options.signal?.aborted) {
    return new FetchError('stopped', `the request to ${label} was aborted`, { cause: error })
  }
  if (deadline.aborted) {
    const message = `${label} did not respond within ${options.timeoutMs} ms`
    return new FetchError('timeout', message, { cause: error })
  }
  const reason = (error as { cause?: { code?: string } }).cause?.code ?? (error as Error).name
  return new FetchError('network', `${label} cannot be reached (${reason})`, { cause: error })
}

const basic = (url: URL): string =>
  `Basic ${Buffer.from(`${decodeURIComponent(url.username)}:${decodeURIComponent(url.password)}`).toString('base64')}`

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
