// Reads one request off the framework into the form the pipeline takes.
import type { IncomingMessage } from 'node:http'
import type { FastifyRequest } from 'fastify'
import { withoutKeys } from '#core/key.ts'
import type { Random } from '#io/random.ts'
import type { RawQuery } from './answer.ts'
import type { WhenGone } from './deadline.ts'
import type { Place } from './match.ts'
import type { House, Request } from './pipeline.ts'

const requestIdShape = /^[\x21-\x7e]{1,128}$/
const hostShape = /^[A-Za-z0-9._:[\]-]{1,255}$/

export function arrivalOf(
  house: House,
  place: Place | undefined,
  request: FastifyRequest,
  whenGone: WhenGone,
): Request {
  const contentType = request.headers['content-type'] ?? ''
  const body = request.body as Uint8Array | undefined
  // Group A matches parameter names in any letter case, and takes them from a form as well (decision 0011).
  const relaxed = place?.answers[0]?.endpoint.auth === 'apikey'
  return {
    requestId: request.id,
    address: request.ip,
    origin: originOf(house, request),
    hostname: request.hostname ?? '',
    path: pathOf(request.raw),
    params: request.params as Record<string, string>,
    query: relaxed ? relaxedQuery(request.query as RawQuery, contentType, body) : (request.query as RawQuery),
    headers: request.headers as Record<string, string | undefined>,
    contentType,
    body,
    whenGone,
  }
}

function relaxedQuery(query: RawQuery, contentType: string, body: Uint8Array | undefined): RawQuery {
  const form = body !== undefined && formShape.test(contentType)
  if (!form && namesAreLower(query)) return query
  const relaxed: Record<string, string | readonly string[]> = Object.create(null)
  const add = (name: string, value: string | readonly string[]) => {
    const there = relaxed[name.toLowerCase()]
    relaxed[name.toLowerCase()] = there === undefined ? value : [there, value].flat()
  }
  for (const [name, value] of Object.entries(query)) if (value !== undefined) add(name, value)
  if (form) {
    for (const [name, value] of new URLSearchParams(new TextDecoder().decode(body))) add(name, value)
  }
  return relaxed
}

const formShape = /^application\/x-www-form-urlencoded\s*(;|$)/i

function namesAreLower(query: RawQuery): boolean {
  for (const name in query) if (name !== name.toLowerCase()) return false
  return true
}

function originOf(house: House, request: FastifyRequest): string {
  const { publicUrl, host, port } = house.desk.settings.server
  if (publicUrl !== '') return publicUrl
  return hostShape.test(request.host) ? `${request.protocol}://${request.host}` : `http://${host}:${port}`
}

export interface RequestIds {
  /** The caller's own id when it is fit to be repeated, otherwise a new one. */
  of(raw: IncomingMessage): string
  /** One that no two requests share. */
  next(): string
}

export function openRequestIds(random: Random): RequestIds {
  const run = Buffer.from(random.bytes(6)).toString('base64url')
  let count = 0
  const next = () => {
    count += 1
    return `${run}-${count.toString(36)}`
  }
  return {
    next,
    of(raw) {
      const own = raw.headers['x-request-id']
      return typeof own === 'string' && requestIdShape.test(own) && own === withoutKeys(own) ? own : next()
    },
  }
}

export function headerBytes(raw: IncomingMessage): number {
  let bytes = 0
  for (const part of raw.rawHeaders) bytes += part.length
  return bytes
}

export function pathOf({ url = '/' }: { url?: string | undefined }): string {
  const mark = url.indexOf('?')
  return mark < 0 ? url : url.slice(0, mark)
}
