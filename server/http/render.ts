// Turns results and faults into status, headers and body. Serializers are compiled from the contract, so that only fields
// of the contract are sent. The only file that imports the serializer library.
import fastJson from 'fast-json-stringify'
import type { ErrorFormat, RenderedError } from '#api/contract/error-formats.ts'
import { stringifyJson } from '#api/contract/json.ts'
import type { Endpoint } from '#api/contract/kit.ts'
import type { Fault } from '#core/fault.ts'
import { withoutKeys } from '#core/key.ts'
import type { Confidence, Handler, HandlerResult, RenderedOnce } from './handler.ts'

export interface ApiResponse {
  readonly status: number
  readonly headers: Record<string, string>
  readonly body: string | Uint8Array
  /** If the same response is sent many times. */
  readonly once?: RenderedOnce
  /** An endless response instead of a body. */
  readonly chunks?: (signal: AbortSignal) => AsyncIterable<string>
  /** The body is kept anyway, so it takes no memory for this response. */
  readonly isBodyShared?: boolean | undefined
}

export const jsonType = 'application/json; charset=utf-8'

export const jsonResponse = (body: unknown, status = 200, headers: Record<string, string> = {}) => ({
  status,
  headers: { 'content-type': jsonType, ...headers },
  body: stringifyJson(body),
})

/** Compiled at the first use, to keep the start fast. */
export function serializer(endpoint: Endpoint): (body: unknown) => string {
  let serialize: ((body: unknown) => string) | undefined
  return (body) => {
    serialize ??= fastJson(toNullableSchema(endpoint.reply) as object) as (body: unknown) => string
    return serialize(body)
  }
}

/** The serializer supports bigint only for a single type, so `[integer, null]` becomes a nullable integer. */
function toNullableSchema(schema: unknown): unknown {
  if (typeof schema !== 'object' || schema === null) return schema
  if (Array.isArray(schema)) return schema.map(toNullableSchema)
  const copy = Object.fromEntries(Object.entries(schema).map(([name, value]) => [name, toNullableSchema(value)]))
  const types: unknown = copy.type
  if (!Array.isArray(types) || types.length !== 2 || types[1] !== 'null') return copy
  return { ...copy, type: types[0], nullable: true }
}

export interface Rendering {
  readonly serialize: (body: unknown) => string
  readonly requiresKey: boolean
}

export function render(handler: Handler, rendering: Rendering, result: HandlerResult<unknown>): ApiResponse {
  switch (result.is) {
    case 'body': {
      const headers = limitCaching(handler, rendering, resultHeaders(result, result.retryAfterMs))
      return { status: 200, headers, body: rendering.serialize(result.body) }
    }
    case 'bytes':
      return renderBytes(handler, rendering, result)
    case 'stream':
      return { status: 200, headers: { 'content-type': result.type }, body: '' }
    case 'unchanged':
      return { status: 304, headers: limitCaching(handler, rendering, { ...result.headers }), body: '' }
    case 'nothing':
      return renderJson(
        handler.errorFormat.renderNotFound(),
        addConfidence({ 'x-tetrad-fault': 'record.not_found' }, result.confidence),
      )
  }
}

/** A shared cache cannot check keys (behaviour/http.md#response-headers). A key in the query is part of the cached URL. */
function limitCaching({ endpoint }: Handler, { requiresKey }: Rendering, headers: Record<string, string>) {
  const cacheControl = headers['cache-control']
  if (!requiresKey || cacheControl === undefined) return headers
  headers['cache-control'] = cacheControl.replace('public', 'private')
  if (endpoint.auth !== 'apikey') headers.vary = headers.vary ? `${headers.vary}, authorization` : 'authorization'
  return headers
}

function renderBytes(
  handler: Handler,
  rendering: Rendering,
  result: HandlerResult<unknown> & { is: 'bytes' },
): ApiResponse {
  const { rendered, isBodyShared } = result
  if (rendered?.response) return rendered.response
  const headers = limitCaching(handler, rendering, resultHeaders(result))
  const response = { status: 200, headers, body: result.bytes, isBodyShared }
  if (!rendered) return response
  rendered.response = { ...response, once: rendered, isBodyShared: true }
  return rendered.response
}

export function renderFault(errorFormat: ErrorFormat, fault: Fault, auth: string): ApiResponse {
  const headers: Record<string, string> = {
    'x-tetrad-fault': fault.code,
    ...fault.headers,
    ...retryHeaders(fault.retryAfterMs),
  }
  if (fault.status === 401 && auth === 'bearer') headers['www-authenticate'] = 'Bearer'
  return renderJson(errorFormat.renderFault(fault), headers)
}

function renderJson(rendered: RenderedError, headers: Record<string, string>): ApiResponse {
  // An error may repeat values of the request: an integer of any size, or a key in the wrong parameter.
  const body = withoutKeys(stringifyJson(rendered.body))
  return { status: rendered.status, headers: { 'content-type': jsonType, ...headers }, body }
}

/** Written member by member, because merging objects is slow. */
function resultHeaders(
  { headers, confidence }: Pick<HandlerResult<unknown> & { is: 'body' }, 'headers' | 'confidence'>,
  retryAfterMs?: number,
): Record<string, string> {
  const all: Record<string, string> = { 'content-type': jsonType }
  for (const name in headers) all[name] = headers[name] as string
  addConfidence(all, confidence)
  if (retryAfterMs !== undefined) Object.assign(all, retryHeaders(retryAfterMs))
  return all
}

function addConfidence(headers: Record<string, string>, confidence: Confidence | undefined): Record<string, string> {
  if (!confidence) return headers
  if (confidence.asOf !== undefined) headers['x-tetrad-as-of'] = String(confidence.asOf)
  if (confidence.finality !== undefined) headers['x-tetrad-finality'] = confidence.finality
  if (confidence.coverage !== undefined) headers['x-tetrad-coverage'] = confidence.coverage
  return headers
}

/** In seconds, at least 1. */
const retryHeaders = (waitMs: number | undefined): Record<string, string> =>
  waitMs === undefined ? {} : { 'retry-after': String(Math.max(1, Math.ceil(waitMs / 1000))) }
