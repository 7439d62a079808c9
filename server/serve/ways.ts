// Every path the door knows: those of the contract and the extras beside them (health, documents, downloads, the console).
// Both are bounded in size, logged and counted alike; only those of the contract ask for a key and take from its limits,
// because whoever watches a server must reach it when others ask too much.

import { Fault, invalid } from '#core/fault.ts'
import type { Settings } from '#core/settings.ts'
import type { Answer } from './answer.ts'
import { nearest } from './match.ts'
import { type House, houseShape, logRequest, outcomeOf, type Request, renamed, respond, toFault } from './pipeline.ts'
import { type QueryRules, repeatsMax } from './query.ts'
import { type Departure, renderFault } from './render.ts'

type ExtraReply = (request: Request) => Promise<Departure>

/** A path outside the contract; `{name}` stands for one segment or a part of it. */
export interface Extra {
  readonly path: string
  /** Answers GET and HEAD. */
  readonly reply?: ExtraReply
  /** Answers the methods that change something. */
  readonly changes?: Readonly<Partial<Record<'POST' | 'DELETE', ExtraReply>>>
  /** For pages of this very origin: others may not read it, and are not told how to ask. */
  readonly sameOrigin?: true
}

/** One that is there to be read. */
export type Readable = Extra & { readonly reply: ExtraReply }

export interface Way {
  readonly path: string
  readonly methods: readonly string[]
  readonly urlBytesMax: number
  readonly query: QueryRules
  readonly fits: RegExp
  readonly sameOrigin?: true
  respond(request: Request, method: string): Promise<Departure>
}

export function waysOf(house: House, extras: readonly Extra[]): readonly Way[] {
  const { urlBytesMax } = house.context.settings.server
  return [
    ...house.places.map((place) => ({
      path: place.path,
      methods: place.methods,
      urlBytesMax: Math.max(urlBytesMax, ...place.answers.map((one) => one.endpoint.urlBytesMax ?? 0)),
      query: queryRules(place.answers),
      fits: pattern(place.path),
      respond: (request: Request) => respond(house, place, request),
    })),
    ...extras.map((extra) => ({
      path: extra.path,
      methods: [...(extra.reply ? ['GET', 'HEAD'] : []), ...Object.keys(extra.changes ?? {})],
      urlBytesMax,
      query: { listsMax: new Map(), anyCase: false },
      fits: pattern(extra.path),
      ...(extra.sameOrigin && { sameOrigin: extra.sameOrigin }),
      respond: (request: Request, method: string) => respondExtra(house, extra, request, method),
    })),
  ]
}

/** Endpoints with the key in the query match parameter names in any letter case (decision 0011). */
const queryRules = (answers: readonly Answer[]): QueryRules => ({
  listsMax: new Map(
    answers.flatMap(({ endpoint }) =>
      Object.entries(endpoint.input.properties as Record<string, { readonly maxItems?: number }>)
        .filter(([, { maxItems = 0 }]) => maxItems > repeatsMax)
        .map(([name, { maxItems = 0 }]) => [name, maxItems] as const),
    ),
  ),
  anyCase: answers[0]?.endpoint.auth === 'apikey',
})

const pattern = (template: string): RegExp =>
  new RegExp(`^${template.replaceAll('.', '\\.').replaceAll(/\{\w+\}/g, '[^/]+')}$`)

async function respondExtra(house: House, extra: Extra, request: Request, method: string): Promise<Departure> {
  const startMs = house.context.clock.monotonicMs()
  let departure: Departure
  let outcome = 'ok'
  try {
    const reply = extra.changes?.[method as 'POST' | 'DELETE'] ?? extra.reply
    if (!reply) throw new Error(`nothing answers ${method} at ${extra.path}`)
    const made = await reply(request)
    // Other spellings are for existing clients; our own pages know ours.
    departure = extra.sameOrigin ? made : renamed(house, made)
  } catch (error) {
    const fault = toFault(house, error, request)
    departure = renderFault(houseShape, fault, 'open')
    outcome = outcomeOf(fault)
  }
  const tookMs = house.context.clock.monotonicMs() - startMs
  house.meter.request(extra.path, outcome, tookMs)
  logRequest(house.context, request, { endpoint: extra.path, status: departure.status, outcome, tookMs })
  return departure
}

/** A request that reached no endpoint, in the shape of the group its path points to. */
export function refusal(house: House, request: { requestId: string; path: string }, fault: Fault): Departure {
  const place = nearest(house.places, request.path)
  const departure = renderFault(place?.shape ?? houseShape, fault, place?.answers[0]?.endpoint.auth ?? 'open')
  house.meter.request('none', outcomeOf(fault))
  logRequest(house.context, request, { status: departure.status, outcome: outcomeOf(fault) })
  return place ? renamed(house, departure) : departure
}

/** Unknown path, or a known one asked with the wrong method. */
export function strayFault({ context }: House, ways: readonly Way[], path: string): Fault {
  const way = ways.find(({ fits }) => fits.test(path))
  if (!way) return new Fault('route.unknown')
  const allow = [...way.methods, ...(way.sameOrigin || !context.settings.server.cors ? [] : ['OPTIONS'])]
  return new Fault('route.method', { headers: { allow: allow.join(', ') } })
}

/** What the framework says about a URL it cannot route; the problem is told of the path parameter it is in. */
export function urlFault(house: House, error: unknown, path: string): Fault {
  if ((error as { code?: string }).code !== 'FST_ERR_BAD_URL') return new Fault('input.url_too_long')
  const name = /\{(\w+)\}/.exec(nearest(house.places, path)?.path ?? '')?.[1] ?? 'url'
  return invalid(['path', name], 'has a malformed percent-encoding')
}

const securityHeaders = {
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'no-referrer',
  'content-security-policy': "default-src 'none'; frame-ancestors 'none'",
} as const

const corsHeaders = {
  'access-control-allow-origin': '*',
  'access-control-expose-headers':
    'x-request-id, retry-after, etag, last-modified, content-location, x-tetrad-as-of, x-tetrad-finality, x-tetrad-coverage, x-tetrad-method',
} as const

const sentHeaders = [
  'authorization',
  'content-type',
  'idempotency-key',
  'x-request-id',
  'x-validator-network',
  'if-none-match',
  'if-modified-since',
  'last-event-id',
]

/** On every reply. */
export const commonHeaders = ({ server }: Settings, way?: Way): Record<string, string> => ({
  ...securityHeaders,
  ...(server.cors && !way?.sameOrigin && corsHeaders),
})

/** What a page of another origin is told before it asks. */
export const preflight = (settings: Settings, way: Way): Departure => ({
  status: 204,
  headers: {
    'access-control-allow-methods': way.methods.join(', '),
    'access-control-allow-headers': [...sentHeaders, ...Object.keys(settings.aliases.requestHeaders)].join(', '),
    'access-control-max-age': '86400',
  },
  body: '',
})
