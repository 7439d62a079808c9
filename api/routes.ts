// Where each endpoint lives on the wire, as plain data: the client runs on this file alone, without the schema kit.
// An input's place follows from its name: in the path template → path, in `headers` → header, otherwise the query
// of a GET and the body of a POST.

export const groups = ['explorer', 'fx', 'validators', 'markets'] as const
export type Group = (typeof groups)[number]

/** Plans, lowest first; a plan may do whatever a lower one may. */
export const plans = ['free', 'lite', 'standard', 'advanced', 'professional', 'enterprise'] as const
export type Plan = (typeof plans)[number]

export interface Route {
  /** Section of the specification; `beyond` for what it does not have. */
  readonly spec: string
  readonly group: Group
  readonly method: 'GET' | 'POST'
  /** `{name}` marks a path parameter. */
  readonly path: string
  /** How the caller shows its key: query parameter `apikey`, header `authorization: Bearer …`, or not at all. */
  readonly auth: 'apikey' | 'bearer' | 'open'
  /** Lowest plan that may call. */
  readonly plan: Plan
  /** Only keys made for administration may call (behaviour/http.md#admin-keys). */
  readonly admin?: boolean
  /** Query values that choose this endpoint among those that share its path. */
  readonly select?: { readonly module: string; readonly action: string }
  /** Input name → request header. */
  readonly headers?: Readonly<Record<string, string>>
  /** Calls per second that hold whatever the plan (spec section 8). */
  readonly perSecond?: number
  /** `perSecond` holds only for plans below this one. */
  readonly perSecondBelow?: Plan
  /** Longest request line, when not the house's usual one. */
  readonly urlBytesMax?: number
  /** The answer is a stream of server-sent events, each holding one reply. */
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

/** Endpoints beyond the specification: same words, same admission, same failures (behaviour/http.md#endpoints-beyond-the-specification). */
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

/** Where an input of this name travels. */
export function inputLocation(route: Route, name: string): InputLocation {
  if (route.path.includes(`{${name}}`)) return 'path'
  if (route.headers && name in route.headers) return 'header'
  return route.method === 'POST' ? 'body' : 'query'
}
