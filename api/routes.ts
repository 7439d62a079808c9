// Path, method, authentication and plan of each endpoint. The client needs only this table, not the schemas.
// Inputs that are in the path template are path parameters, those in `headers` are headers; all others are in the query
// of a GET or in the body of a POST.

export const groups = ['explorer', 'fx', 'validators', 'markets'] as const
export type Group = (typeof groups)[number]

/** Plans, lowest first. */
export const plans = ['free', 'lite', 'standard', 'advanced', 'professional', 'enterprise'] as const
export type Plan = (typeof plans)[number]

export interface Route {
  /** Section of the specification; `beyond` for extensions. */
  readonly spec: string
  readonly group: Group
  readonly method: 'GET' | 'POST'
  /** `{name}` marks a path parameter. */
  readonly path: string
  /** Where the key is: query parameter `apikey`, header `authorization: Bearer …`, or no key needed. */
  readonly auth: 'apikey' | 'bearer' | 'open'
  /** Lowest plan that may call. */
  readonly plan: Plan
  /** Needs an admin key (behaviour/http.md#admin-keys). */
  readonly admin?: boolean
  /** Query values that select this endpoint among those with the same path. */
  readonly select?: { readonly module: string; readonly action: string }
  /** Input name → request header. */
  readonly headers?: Readonly<Record<string, string>>
  /** Limit of calls per second on every plan (spec section 8). */
  readonly perSecond?: number
  /** `perSecond` applies only to plans below this one. */
  readonly perSecondBelow?: Plan
  /** Maximum length of the request line, if not `server.urlBytesMax`. */
  readonly urlBytesMax?: number
  /** The response is a stream of server-sent events; each contains one reply. */
  readonly stream?: true
}

const network = { network: 'x-validator-network' } as const

export const routes = {
  'explorer.labelListV2': {
    spec: '4.1',
    group: 'explorer',
    method: 'GET',
    path: '/v2/api',
    auth: 'apikey',
    plan: 'enterprise',
    select: { module: 'nametag', action: 'getlabelmasterlist' },
  },
  'explorer.labelListV1': {
    spec: '4.2',
    group: 'explorer',
    method: 'GET',
    path: '/v1/api.ashx',
    auth: 'apikey',
    plan: 'enterprise',
    select: { module: 'nametag', action: 'getlabelmasterlist' },
  },
  'explorer.fundedBy': {
    spec: '4.3',
    group: 'explorer',
    method: 'GET',
    path: '/v2/api',
    auth: 'apikey',
    plan: 'standard',
    select: { module: 'account', action: 'fundedby' },
    perSecond: 2,
  },
  'fx.createQuote': {
    spec: '4.4',
    group: 'fx',
    method: 'POST',
    path: '/v1/exchange/fx/quotes',
    auth: 'bearer',
    plan: 'free',
    headers: { idempotencyKey: 'idempotency-key' },
  },
  'validators.aggregateEffectiveness': {
    spec: '4.5',
    group: 'validators',
    method: 'GET',
    path: '/v0/eth/validators/effectiveness',
    auth: 'bearer',
    plan: 'free',
    headers: network,
    urlBytesMax: 1_310_720,
  },
  'validators.effectiveness': {
    spec: '4.6',
    group: 'validators',
    method: 'GET',
    path: '/v1/eth/validators/{validator_index_or_pubkey}/effectiveness',
    auth: 'bearer',
    plan: 'free',
    headers: network,
  },
  'validators.metadata': {
    spec: '4.7',
    group: 'validators',
    method: 'GET',
    path: '/v0/eth/validators/{validator_index_or_pubkey}',
    auth: 'bearer',
    plan: 'free',
    headers: network,
  },
  'markets.bySlug': {
    spec: '4.8',
    group: 'markets',
    method: 'GET',
    path: '/markets/slug/{slug}',
    auth: 'open',
    plan: 'free',
  },
} as const satisfies Record<string, Route>

export type EndpointId = keyof typeof routes

/** Endpoints beyond the specification (behaviour/http.md#endpoints-beyond-the-specification). */
export const extensionRoutes = {
  'explorer.trail': {
    spec: 'beyond',
    group: 'explorer',
    method: 'GET',
    path: '/v2/trail',
    auth: 'apikey',
    plan: 'standard',
    perSecond: 2,
  },
  'explorer.labelSearch': {
    spec: 'beyond',
    group: 'explorer',
    method: 'GET',
    path: '/v2/labels/search',
    auth: 'apikey',
    plan: 'standard',
    perSecond: 10,
  },
  'fx.currencies': {
    spec: 'beyond',
    group: 'fx',
    method: 'GET',
    path: '/v1/exchange/fx/currencies',
    auth: 'bearer',
    plan: 'free',
  },
  'fx.quote': {
    spec: 'beyond',
    group: 'fx',
    method: 'GET',
    path: '/v1/exchange/fx/quotes/{id}',
    auth: 'bearer',
    plan: 'free',
  },
  'fx.receipt': {
    spec: 'beyond',
    group: 'fx',
    method: 'GET',
    path: '/v1/exchange/fx/quotes/{id}/receipt',
    auth: 'bearer',
    plan: 'free',
  },
  'fx.checkSignature': {
    spec: 'beyond',
    group: 'fx',
    method: 'POST',
    path: '/v1/exchange/fx/quotes/{id}/check-signature',
    auth: 'bearer',
    plan: 'free',
    perSecond: 2,
    perSecondBelow: 'enterprise',
  },
  'fx.receiptKey': {
    spec: 'beyond',
    group: 'fx',
    method: 'GET',
    path: '/v1/exchange/fx/receipt-key',
    auth: 'open',
    plan: 'free',
  },
  'fx.setRate': {
    spec: 'beyond',
    group: 'fx',
    method: 'POST',
    path: '/v1/exchange/fx/rates',
    auth: 'bearer',
    plan: 'free',
    admin: true,
  },
  'validators.explain': {
    spec: 'beyond',
    group: 'validators',
    method: 'GET',
    path: '/v1/eth/validators/{validator_index_or_pubkey}/explain',
    auth: 'bearer',
    plan: 'free',
    headers: network,
  },
  'validators.find': {
    spec: 'beyond',
    group: 'validators',
    method: 'GET',
    path: '/v0/eth/validators',
    auth: 'bearer',
    plan: 'free',
    headers: network,
  },
  'markets.byId': {
    spec: 'beyond',
    group: 'markets',
    method: 'GET',
    path: '/markets/{id}',
    auth: 'open',
    plan: 'free',
  },
  'markets.search': {
    spec: 'beyond',
    group: 'markets',
    method: 'GET',
    path: '/markets/search',
    auth: 'open',
    plan: 'free',
    perSecond: 10,
  },
  'markets.changesBySlug': {
    spec: 'beyond',
    group: 'markets',
    method: 'GET',
    path: '/markets/slug/{slug}/changes',
    auth: 'open',
    plan: 'free',
  },
  'markets.changes': {
    spec: 'beyond',
    group: 'markets',
    method: 'GET',
    path: '/markets/changes',
    auth: 'open',
    plan: 'free',
  },
  'markets.changeStream': {
    spec: 'beyond',
    group: 'markets',
    method: 'GET',
    path: '/markets/changes/stream',
    auth: 'open',
    plan: 'free',
    headers: { lastEventId: 'last-event-id' },
    stream: true,
  },
} as const satisfies Record<string, Route>

export type ExtensionId = keyof typeof extensionRoutes
export type AnyId = EndpointId | ExtensionId
export const allRoutes: Readonly<Record<AnyId, Route>> = { ...routes, ...extensionRoutes }

export type InputLocation = 'path' | 'query' | 'header' | 'body'

/** Where an input of this name is sent. */
export function inputLocation(route: Route, name: string): InputLocation {
  if (route.path.includes(`{${name}}`)) return 'path'
  if (route.headers && name in route.headers) return 'header'
  return route.method === 'POST' ? 'body' : 'query'
}
