// Outgoing HTTP, and the only place that calls fetch. Every request has a time limit and a size limit; redirects are
// refused, because they would carry a feed's credentials to wherever it points. What goes wrong leaves here as a
// FetchError whose words an operator can act on. Of the address they tell the host alone: providers put keys anywhere else.
import { parseJson } from '#api/json.ts'

export type FetchFailure = 'address' | 'network' | 'timeout' | 'stopped' | 'redirect' | 'status' | 'size' | 'text'

export class FetchError extends Error {
  readonly failure: FetchFailure
  readonly status: number | undefined
  /** How long the other side asks to be left alone. */
  readonly retryAfterMs: number | undefined

  constructor(
    failure: FetchFailure,
    message: string,
    options: { status?: number; retryAfterMs?: number | undefined; cause?: unknown } = {},
  ) {
    super(message, { cause: options.cause })
    this.name = 'FetchError'
    this.failure = failure
    this.status = options.status
    this.retryAfterMs = options.retryAfterMs
  }
}

export interface FetchOptions {
  readonly timeoutMs: number
  /** After decompression. */
  readonly bytesMax: number
  readonly signal?: AbortSignal
  readonly headers?: Readonly<Record<string, string>>
  readonly method?: 'GET' | 'POST'
  readonly body?: string
  /** What failures call the address, where the caller can tell more of it than the host; nothing of what was configured. */
  readonly label?: string
  /** Where the bytes of a large answer go: at least as many as asked for. New memory otherwise. */
  readonly allocate?: (bytes: number) => Uint8Array
}

/** The text of a 200 answer. Anything else is a FetchError. */
export const fetchText = (address: string, options: FetchOptions): Promise<string> =>
  fetched(address, options, (response, shown) => readText(response, shown, options.bytesMax))

export interface FetchedBytes {
  readonly bytes: Uint8Array
  header(name: string): string | undefined
}

/** The bytes of a 200 answer with its headers, for answers that come in more than one form. */
export const fetchBytes = (address: string, options: FetchOptions): Promise<FetchedBytes> =>
  fetched(address, options, async (response, shown) => ({
    bytes: await readBytes(response, shown, options),
    header: (name) => response.headers.get(name) ?? undefined,
  }))

async function fetched<T>(
  address: string,
  options: FetchOptions,
  read: (response: Response, label: string) => Promise<T>,
): Promise<T> {
  const url = URL.parse(address)
  const label = options.label ?? cleanUrl(address)
  if (!url || !/^https?:$/.test(url.protocol)) {
    throw new FetchError('address', `${label} is not an http or https address`)
  }
  const headers = new Headers(options.headers)
  // The platform refuses addresses with a user name in them; as a header it is the same request.
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
    await refuseOthers(response, address, label)
    return await read(response, label)
  } catch (error) {
    throw toFetchError(error, label, options, deadline)
  }
}

/** As fetchText, parsed; integers beyond 2^53 arrive as bigint. */
export async function fetchJson(address: string, options: FetchOptions): Promise<unknown> {
  const text = await fetchText(address, options)
  try {
    return parseJson(text)
  } catch (cause) {
    throw new FetchError('text', `${options.label ?? cleanUrl(address)} answered something that is not JSON`, { cause })
  }
}

async function refuseOthers(response: Response, address: string, label: string): Promise<void> {
  const { status } = response
  if (status === 200) return
  await response.body?.cancel()
  if (status >= 300 && status < 400 && status !== 304) {
    const message = `${label} redirects to ${whereTo(response, address)}; configure the final address`
    throw new FetchError('redirect', message, { status })
  }
  const seconds = /^\s*(\d{1,6})\s*$/.exec(response.headers.get('retry-after') ?? '')?.[1]
  const retryAfterMs = seconds === undefined ? undefined : Number(seconds) * 1000
  throw new FetchError('status', `${label} answered with status ${status}`, { status, retryAfterMs })
}

function whereTo(response: Response, address: string): string {
  const target = response.headers.get('location')
  const url = target === null ? null : URL.parse(target, address)
  if (!url) return 'elsewhere'
  return url.origin === URL.parse(address)?.origin ? 'another path of the same host' : cleanUrl(url.href)
}

/** From here on an answer is put together in place. */
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

/** Into one buffer of the length that was announced: pieces beside their sum would need twice the memory. */
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
  // Leaving the loop by an exception cancels the rest of the body.
  for await (const chunk of response.body ?? []) {
    bytes += chunk.length
    if (bytes > bytesMax) {
      throw new FetchError('size', `${label} answered with more than ${bytesMax} bytes`)
    }
    yield chunk
  }
}

function decodeText(decoder: TextDecoder, label: string, chunk?: Uint8Array): string {
  try {
    return chunk ? decoder.decode(chunk, { stream: true }) : decoder.decode()
  } catch (cause) {
    throw new FetchError('text', `${label} answered something that is not UTF-8`, { cause })
  }
}

function toFetchError(error: unknown, label: string, options: FetchOptions, deadline: AbortSignal): FetchError {
  if (error instanceof FetchError) return error
  if (options.signal?.aborted) {
    return new FetchError('stopped', `the request to ${label} was given up`, { cause: error })
  }
  if (deadline.aborted) {
    const message = `${label} did not answer within ${options.timeoutMs} ms`
    return new FetchError('timeout', message, { cause: error })
  }
  const reason = (error as { cause?: { code?: string } }).cause?.code ?? (error as Error).name
  return new FetchError('network', `${label} cannot be reached (${reason})`, { cause: error })
}

const basic = (url: URL): string =>
  `Basic ${Buffer.from(`${decodeURIComponent(url.username)}:${decodeURIComponent(url.password)}`).toString('base64')}`

/**
 * An address fit for a log line, of which only scheme, host and port are told: a key may be the user, a word of the path, a value or
 * a name in the query (behaviour/http.md#urls-of-nodes-and-sources).
 */
export function cleanUrl(address: string): string {
  const url = URL.parse(address)
  if (!url) return 'the address'
  const isMore = url.pathname.length > 1 || url.search !== ''
  return `${url.protocol}//${url.host}${isMore ? '/…' : ''}`
}

/** The same of a list; those that look alike are told apart by their place in it. */
export function cleanUrls(addresses: readonly string[]): readonly string[] {
  const names = addresses.map(cleanUrl)
  return names.map((name, at) =>
    names.indexOf(name) === names.lastIndexOf(name) ? name : `${name} (number ${at + 1})`,
  )
}
