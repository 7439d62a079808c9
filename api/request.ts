// Inputs by name → one HTTP request. An input's place (path, query, header, body) follows from the route; nothing else is
// known about it here, so that the client needs no schema at run time.
import { stringifyJson } from './json.ts'
import { type AnyId, allRoutes, type Group, inputLocation, type Route } from './routes.ts'

/** Where the interfaces live: one address, or one for each of the specification's placeholders. */
export interface Addresses {
  /** Scheme and host, and a path when the server stands behind one: `https://data.house.net/tetrad`. */
  readonly baseUrl?: string | undefined
  /** `explorerMetadata` serves the label lists; left out, they are at `explorer`. */
  readonly baseUrls?: { readonly [Name in Group | 'explorerMetadata']?: string | undefined } | undefined
}

export interface HttpCall {
  readonly url: string
  readonly method: 'GET' | 'POST'
  readonly headers: Record<string, string>
  readonly body?: string
}

type Inputs = Readonly<Record<string, unknown>>

/** The address of this endpoint, without a trailing slash. */
export function baseOf(id: AnyId, { baseUrl, baseUrls = {} }: Addresses): string {
  const route = allRoutes[id]
  const labels = route.select?.module === 'nametag' ? baseUrls.explorerMetadata : undefined
  const chosen = labels ?? baseUrls[route.group] ?? baseUrl
  if (chosen === undefined) throw new TypeError(`${id}: no address: give baseUrl, or baseUrls.${route.group}`)
  if (!URL.canParse(chosen)) throw new TypeError(`${id}: the base URL cannot be read; write it as https://host`)
  const url = new URL(chosen)
  if (!/^https?:$/.test(url.protocol)) throw new TypeError(`${id}: the base URL must begin with http:// or https://`)
  if (url.username || url.password || url.search || url.hash) {
    throw new TypeError(`${id}: the base URL may hold a scheme, a host and a path, nothing else`)
  }
  return `${url.origin}${url.pathname.replace(/\/+$/, '')}`
}

/** `query` replaces the query inputs: the rest of a link to the next page. */
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
  const chosen = Object.entries({ ...route.select, ...input })
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
    // A URL cannot carry these as a segment: '' changes the path, dots are resolved away, escaped or not.
    if (['', '.', '..'].includes(value)) throw new TypeError(`${id}: ${name} is needed and cannot be "${value}"`)
    return encodeURIComponent(value)
  })
}

const isGiven = (value: unknown): boolean => value !== undefined && value !== null
