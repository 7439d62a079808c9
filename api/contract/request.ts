// Builds the HTTP request of a call. The route determines whether an input goes into path, query, header or body, so
// that no schema is needed at run time.
import { stringifyJson } from './json.ts'
import { type AnyId, allRoutes, type Group, inputLocation, type Route } from './routes.ts'

/** URLs of the interfaces: one for all, or one for each placeholder of the specification. */
export interface Addresses {
  /** Scheme, host and, behind a proxy, a path: `https://data.example.net/tetrad`. */
  readonly baseUrl?: string | undefined
  /** `explorerMetadata` is for the label lists; default: `explorer`. */
  readonly baseUrls?: { readonly [Name in Group | 'explorerMetadata']?: string | undefined } | undefined
}

export interface HttpCall {
  readonly url: string
  readonly method: 'GET' | 'POST'
  readonly headers: Record<string, string>
  readonly body?: string
}

type Inputs = Readonly<Record<string, unknown>>

/** The base URL of this endpoint, without a trailing slash. */
export function baseOf(id: AnyId, { baseUrl, baseUrls = {} }: Addresses): string {
  const route = allRoutes[id]
  const labels = route.selectedBy?.module === 'nametag' ? baseUrls.explorerMetadata : undefined
  const chosen = labels ?? baseUrls[route.group] ?? baseUrl
  if (chosen === undefined) throw new TypeError(`${id}: no base URL: set baseUrl, or baseUrls.${route.group}`)
  if (!URL.canParse(chosen)) throw new TypeError(`${id}: the base URL is not valid: use the form https://host`)
  const url = new URL(chosen)
  if (!/^https?:$/.test(url.protocol)) throw new TypeError(`${id}: the base URL must begin with http:// or https://`)
  if (url.username || url.password || url.search || url.hash) {
    throw new TypeError(`${id}: the base URL may contain only scheme, host and path`)
  }
  return `${url.origin}${url.pathname.replace(/\/+$/, '')}`
}

/** `query` replaces the query inputs, for a link to the next page. */
export function toRequest(
  id: AnyId,
  base: string,
  input: Inputs,
  key: string | undefined,
  query?: URLSearchParams,
): HttpCall {
  const route = allRoutes[id]
  const pairs = query ? [...query].map(([name, value]) => pair(name, value)) : queryPairs(route, input)
  if (route.auth === 'apikey' && key !== undefined) pairs.push(pair('apikey', key))
  const headers: Record<string, string> = { accept: 'application/json' }
  if (route.auth !== 'apikey' && key !== undefined) headers.authorization = `Bearer ${key}`
  for (const [name, header] of Object.entries(route.headers ?? {})) {
    if (isGiven(input[name])) headers[header] = String(input[name])
  }
  const url = `${base}${fillPath(id, route, input)}${pairs.length > 0 ? `?${pairs.join('&')}` : ''}`
  if (route.method === 'GET') return { url, method: 'GET', headers }
  const body = Object.fromEntries(Object.entries(input).filter(([name]) => inputLocation(route, name) === 'body'))
  headers['content-type'] = 'application/json'
  return { url, method: 'POST', headers, body: stringifyJson(body) }
}

function queryPairs(route: Route, input: Inputs): string[] {
  const chosen = Object.entries({ ...route.selectedBy, ...input })
  return chosen
    .filter(([name, value]) => isGiven(value) && inputLocation(route, name) === 'query')
    .map(([name, value]) => pair(name, value))
}

/** A list is written `a,b`: half the length of a repeated name, which matters with 10 000 public keys. */
const pair = (name: string, value: unknown): string =>
  `${encodeURIComponent(name)}=${[value].flat().map(encodeItem).join(',')}`

const encodeItem = (item: unknown): string => encodeURIComponent(String(item))

function fillPath(id: AnyId, route: Route, input: Inputs): string {
  return route.path.replace(/\{(\w+)\}/g, (_, name: string) => {
    const value = isGiven(input[name]) ? String(input[name]) : ''
    // These cannot be path segments: '' changes the path, and dots are resolved even if escaped.
    if (['', '.', '..'].includes(value)) throw new TypeError(`${id}: ${name} is required and must not be "${value}"`)
    return encodeURIComponent(value)
  })
}

const isGiven = (value: unknown): boolean => value !== undefined && value !== null
