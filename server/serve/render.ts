// From an outcome to status, headers and bytes. Bodies are written by serializers compiled from the contract, so a field
// the contract does not name cannot leave the house. The only file that names the serializer.
import fastJson from 'fast-json-stringify'
import { stringifyJson } from '#api/json.ts'
import type { Endpoint } from '#api/kit.ts'
import type { Fault } from '#core/fault.ts'
import { withoutKeys } from '#core/key.ts'
import type { Answer, Confidence, Outcome, Rendered, Shape } from './answer.ts'

export interface Departure {
  readonly status: number
  readonly headers: Record<string, string>
  readonly body: string | Uint8Array
  /** Comes after the headers instead of a body, for as long as the caller listens. */
  readonly chunks?: (signal: AbortSignal) => AsyncIterable<string>
  /** Comes instead of a body that is long, piece by piece as the caller takes it; content-length is among the headers. */
  readonly pieces?: Iterable<Uint8Array>
}

const json = 'application/json; charset=utf-8'

/** Compiled at first use: a start pays only for what it serves. */
export function serializer(endpoint: Endpoint): (body: unknown) => string {
  let write: ((body: unknown) => string) | undefined
  return (body) => {
    write ??= fastJson(nullsApart(endpoint.reply) as object) as (body: unknown) => string
    return write(body)
  }
}

/** The serializer takes bigints only under a single type, so `[integer, null]` becomes a nullable integer for it. */
function nullsApart(schema: unknown): unknown {
  if (typeof schema !== 'object' || schema === null) return schema
  if (Array.isArray(schema)) return schema.map(nullsApart)
  const copy = Object.fromEntries(Object.entries(schema).map(([name, value]) => [name, nullsApart(value)]))
  const types: unknown = copy.type
  if (!Array.isArray(types) || types.length !== 2 || types[1] !== 'null') return copy
  return { ...copy, type: types[0], nullable: true }
}

export function render(answer: Answer, write: (body: unknown) => string, outcome: Outcome<unknown>): Departure {
  switch (outcome.is) {
    case 'body':
      return {
        status: 200,
        headers: {
          'content-type': json,
          ...outcome.headers,
          ...confidenceHeaders(outcome.confidence),
          ...retryHeaders(outcome.retryAfterMs),
        },
        body: write(outcome.body),
      }
    case 'bytes':
      return {
        status: 200,
        headers: { 'content-type': json, ...outcome.headers, ...confidenceHeaders(outcome.confidence) },
        body: outcome.bytes,
      }
    case 'stream':
      return { status: 200, headers: { 'content-type': outcome.type }, body: '', chunks: outcome.chunks }
    case 'unchanged':
      return { status: 304, headers: { ...outcome.headers }, body: '' }
    case 'nothing':
      return plain(answer.shape.nothing(), confidenceHeaders(outcome.confidence))
  }
}

export function renderFault(shape: Shape, fault: Fault, auth: string): Departure {
  const headers: Record<string, string> = { ...fault.headers, ...retryHeaders(fault.retryAfterMs) }
  if (fault.status === 401 && auth === 'bearer') headers['www-authenticate'] = 'Bearer'
  return plain(shape.fault(fault), headers)
}

function plain(rendered: Rendered, headers: Record<string, string>): Departure {
  // A failure may repeat a value that was sent: an integer of any size, or a key in the wrong parameter.
  const body = withoutKeys(stringifyJson(rendered.body))
  return { status: rendered.status, headers: { 'content-type': json, ...headers }, body }
}

function confidenceHeaders(confidence: Confidence | undefined): Record<string, string> {
  if (!confidence) return {}
  const headers: Record<string, string> = {}
  if (confidence.asOf !== undefined) headers['x-tetrad-as-of'] = String(confidence.asOf)
  if (confidence.finality !== undefined) headers['x-tetrad-finality'] = confidence.finality
  if (confidence.coverage !== undefined) headers['x-tetrad-coverage'] = confidence.coverage
  return headers
}

/** In seconds, and never "at once". */
const retryHeaders = (waitMs: number | undefined): Record<string, string> =>
  waitMs === undefined ? {} : { 'retry-after': String(Math.max(1, Math.ceil(waitMs / 1000))) }
