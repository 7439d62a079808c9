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
  /** Query values that selectedBy this endpoint among those with the same path. */
  readonly selectedBy?: { readonly module: string; readonly action: string }
  /** Input name → request header. */
  readonly headers?: Readonly<Record<string, string>>
  /** Limit of calls per second on every plan, for calls that cost more than any plan pays for (spec section 8). */
  readonly perSecond?: number
  /** `perSecond` applies only to plans below this one. */
  readonly perSecondBelow?: Plan
  /** Maximum length of the request line, if not `server.urlBytesMax`. */
  readonly urlBytesMax?: number
  /** The response is a stream of server-sent events; each contains one reply. */
  readonly stream?: true
  /** Returns one record by its name, so that a name that is not known cannot select others (behaviour/http.md#unknown-names). */
  readonly lookup?: true
}

/** Query names of the original interfaces that change only what a record shows. They are accepted, and have no effect. */
export const namesWithoutEffect: Readonly<Record<Group, readonly string[]>> = {
  explorer: [],
  fx: [],
  validators: [],
  markets: ['cache', 'include_best_lines', 'include_chat', 'include_template', 'locale', 'optimized'],
}

/** What most routes of a group share. */
const explorer = { group: 'explorer', method: 'GET', auth: 'apikey' } as const
const fx = { group: 'fx', method: 'GET', auth: 'bearer', plan: 'free' } as const
const network = { network: 'x-validator-network' } as const
const validators = { group: 'validators', method: 'GET', auth: 'bearer', plan: 'free', headers: network } as const
const markets = { group: 'markets', method: 'GET', auth: 'open', plan: 'free' } as const

const labelList = { module: 'nametag', action: 'getlabelmasterlist' } as const

export const routes = {
  'explorer.labelListV2': { ...explorer, spec: '4.1', path: '/v2/api', plan: 'enterprise', selectedBy: labelList },
  'explorer.labelListV1': { ...explorer, spec: '4.2', path: '/v1/api.ashx', plan: 'enterprise', selectedBy: labelList },
  'explorer.fundedBy': {
    ...explorer,
    spec: '4.3',
    path: '/v2/api',
    plan: 'standard',
    perSecond: 2,
    selectedBy: { module: 'account', action: 'fundedby' },
  },
  'fx.createQuote': {
    ...fx,
    spec: '4.4',
    method: 'POST',
    path: '/v1/exchange/fx/quotes',
    headers: { idempotencyKey: 'idempotency-key' },
  },
  'validators.aggregateEffectiveness': {
    ...validators,
    spec: '4.5',
    path: '/v0/eth/validators/effectiveness',
    urlBytesMax: 1_310_720,
  },
  'validators.effectiveness': {
    ...validators,
    spec: '4.6',
    path: '/v1/eth/validators/{validator_index_or_pubkey}/effectiveness',
  },
  'validators.metadata': {
    ...validators,
    spec: '4.7',
    path: '/v0/eth/validators/{validator_index_or_pubkey}',
    lookup: true,
  },
  'markets.bySlug': { ...markets, spec: '4.8', path: '/markets/slug/{slug}', lookup: true },
} as const satisfies Record<string, Route>

export type EndpointId = keyof typeof routes

/** Instead of a section. */
const spec = 'beyond'

/** Endpoints beyond the specification (behaviour/http.md#endpoints-beyond-the-specification). */
export const extensionRoutes = {
  'explorer.trail': { ...explorer, spec, path: '/v2/trail', plan: 'standard', perSecond: 2 },
  'explorer.fundings': {
    ...explorer,
    spec,
    path: '/v2/fundings',
    plan: 'standard',
    perSecond: 2,
    urlBytesMax: 65_536,
  },
  'explorer.labelSearch': { ...explorer, spec, path: '/v2/labels/search', plan: 'standard' },
  'explorer.chainList': { ...explorer, spec, path: '/v2/chainlist', auth: 'open', plan: 'free' },
  'explorer.apiLimit': {
    ...explorer,
    spec,
    path: '/v2/api',
    plan: 'free',
    selectedBy: { module: 'getapilimit', action: 'getapilimit' },
  },
  'explorer.addressTag': {
    ...explorer,
    spec,
    path: '/v2/api',
    plan: 'standard',
    selectedBy: { module: 'nametag', action: 'getaddresstag' },
  },
  'fx.currencies': { ...fx, spec, path: '/v1/exchange/fx/currencies' },
  'fx.rates': { ...fx, spec, path: '/v1/exchange/fx/rates' },
  'fx.quotes': { ...fx, spec, path: '/v1/exchange/fx/quotes' },
  'fx.quote': { ...fx, spec, path: '/v1/exchange/fx/quotes/{id}', lookup: true },
  'fx.receipt': { ...fx, spec, path: '/v1/exchange/fx/quotes/{id}/receipt', lookup: true },
  'fx.checkSignature': {
    ...fx,
    spec,
    method: 'POST',
    path: '/v1/exchange/fx/quotes/{id}/check-signature',
    perSecond: 2,
    perSecondBelow: 'enterprise',
  },
  'fx.receiptKey': { ...fx, spec, path: '/v1/exchange/fx/receipt-key', auth: 'open' },
  'fx.setRate': { ...fx, spec, method: 'POST', path: '/v1/exchange/fx/rates', admin: true },
  'fx.createTrade': { ...fx, spec, method: 'POST', path: '/v1/exchange/fx/trades' },
  'fx.trades': { ...fx, spec, path: '/v1/exchange/fx/trades' },
  'fx.trade': { ...fx, spec, path: '/v1/exchange/fx/trades/{id}', lookup: true },
  'fx.tradePermit': { ...fx, spec, path: '/v1/exchange/fx/trades/{id}/permit', admin: true, lookup: true },
  'fx.reportTrade': { ...fx, spec, method: 'POST', path: '/v1/exchange/fx/trades/{id}/report', admin: true },
  'fx.rateHistory': { ...fx, spec, path: '/v1/exchange/fx/rates/history' },
  'validators.explain': { ...validators, spec, path: '/v1/eth/validators/{validator_index_or_pubkey}/explain' },
  'validators.duties': { ...validators, spec, path: '/v1/eth/validators/{validator_index_or_pubkey}/duties' },
  'validators.list': { ...validators, spec, path: '/v0/eth/validators' },
  'validators.effectivenessV0': {
    ...validators,
    spec,
    path: '/v0/eth/validators/{validator_index_or_pubkey}/effectiveness',
  },
  'validators.find': { ...validators, spec, path: '/v1/eth/validators' },
  'validators.income': { ...validators, spec, path: '/v1/eth/validators/income' },
  'validators.comparison': { ...validators, spec, path: '/v1/eth/validators/comparison' },
  'validators.operators': { ...validators, spec, path: '/v0/eth/operators' },
  'validators.operator': { ...validators, spec, path: '/v0/eth/operators/{operator_id}', lookup: true },
  'validators.operatorSummary': { ...validators, spec, path: '/v0/eth/operators/{operator_id}/summary' },
  'validators.operatorEffectiveness': { ...validators, spec, path: '/v0/eth/operators/{operator_id}/effectiveness' },
  'validators.networkStats': { ...validators, spec, path: '/v0/eth/network/stats' },
  'validators.networkOverview': { ...validators, spec, path: '/v0/eth/network/overview' },
  'validators.entities': { ...validators, spec, path: '/v1/eth/entities' },
  'markets.byId': { ...markets, spec, path: '/markets/{id}', lookup: true },
  'markets.list': { ...markets, spec, path: '/markets' },
  'markets.listKeyset': { ...markets, spec, path: '/markets/keyset' },
  'markets.events': { ...markets, spec, path: '/events' },
  'markets.eventsKeyset': { ...markets, spec, path: '/events/keyset' },
  'markets.eventById': { ...markets, spec, path: '/events/{id}', lookup: true },
  'markets.eventBySlug': { ...markets, spec, path: '/events/slug/{slug}', lookup: true },
  'markets.tags': { ...markets, spec, path: '/tags' },
  'markets.tagById': { ...markets, spec, path: '/tags/{id}', lookup: true },
  'markets.tagBySlug': { ...markets, spec, path: '/tags/slug/{slug}', lookup: true },
  'markets.marketTags': { ...markets, spec, path: '/markets/{id}/tags', lookup: true },
  'markets.eventTags': { ...markets, spec, path: '/events/{id}/tags', lookup: true },
  'markets.series': { ...markets, spec, path: '/series' },
  'markets.seriesById': { ...markets, spec, path: '/series/{id}', lookup: true },
  'markets.search': { ...markets, spec, path: '/markets/search' },
  'markets.publicSearch': { ...markets, spec, path: '/public-search' },
  'markets.pricesHistory': { ...markets, spec, path: '/prices-history' },
  'markets.changesBySlug': { ...markets, spec, path: '/markets/slug/{slug}/changes' },
  'markets.changes': { ...markets, spec, path: '/markets/changes' },
  'markets.changeStream': {
    ...markets,
    spec,
    path: '/markets/changes/stream',
    stream: true,
    headers: { lastEventId: 'last-event-id' },
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
