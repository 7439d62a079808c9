// Sends the response that the pipeline has created: in one piece, in parts, or as a stream.
import type { IncomingMessage, ServerResponse } from 'node:http'
import { type CommonHeaders, headerList, headerListOnce } from './header-list.ts'
import { type App, toFault } from './pipeline.ts'
import { pathOfUrl } from './read-request.ts'
import type { ApiResponse } from './render.ts'
import { partBytes, type ResponseWriter, splitBody, waitUntilSent, writeBody, writeStream } from './write-response.ts'

/** A request on its way, with what is needed to refuse it. */
export interface Exchange {
  readonly app: App
  readonly raw: IncomingMessage
  readonly response: ServerResponse
  readonly id: string
  /** Headers of every response of the path. */
  readonly common: CommonHeaders
  readonly writer: ResponseWriter
}

export function sendResponse(exchange: Exchange, apiResponse: ApiResponse): void {
  const hasBody = exchange.raw.method !== 'HEAD'
  if (apiResponse.chunks && hasBody) sendStream(exchange, apiResponse)
  else send(exchange, apiResponse)
}

export function send(exchange: Exchange, { status, headers, body, once, isBodyShared }: ApiResponse): void {
  const { response, writer } = exchange
  const list = once ? headerListOnce(exchange, headers, once) : headerList(exchange, headers)
  const byteCount = typeof body === 'string' ? Buffer.byteLength(body) : body.byteLength
  if (status !== 304 && status !== 204 && headers['content-length'] === undefined)
    list.push('content-length', String(byteCount))
  response.writeHead(status, list)
  if (byteCount > partBytes && exchange.raw.method !== 'HEAD') {
    const bytes = typeof body === 'string' ? Buffer.from(body) : body
    reportFailure(exchange, writeBody(writer, response, splitBody(bytes), isBodyShared ? 0 : byteCount))
    return
  }
  // Text with one byte per character needs no UTF-8 encoder, and Node sends it with the headers in one string.
  if (typeof body === 'string' && byteCount === body.length) response.end(body, 'latin1')
  else response.end(body)
  if (response.writableLength > 0) void waitUntilSent(writer, response)
}

/** Sends an endless response until the caller leaves, reads too slowly, or the server stops. */
function sendStream(exchange: Exchange, { status, headers, chunks }: ApiResponse): void {
  const { app, response, writer } = exchange
  response.writeHead(status, headerList(exchange, headers))
  reportFailure(exchange, writeStream(writer, response, chunks ?? async function* () {}, app.stopping.signal))
}

/** The headers have been sent, so a failure can only be logged. */
function reportFailure({ app, raw, id }: Exchange, writing: Promise<void>): void {
  writing.catch((error) => toFault(app, error, { requestId: id, path: pathOfUrl(raw) }))
}
