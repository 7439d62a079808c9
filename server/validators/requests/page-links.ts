// Links to other pages of a response. They have the parameters as the caller wrote them, except those that select the
// page. Unknown parameters are left out. 4.6 uses `pageLinks`; 4.5 has a cursor of its own (aggregate-page.ts, `nextPath`).
import type { Endpoint } from '#api/contract/kit.ts'
import { inputLocation } from '#api/contract/routes.ts'
import type { RawQuery } from '#http/handler.ts'

/** A request whose response has links: `input` has the parameters of the path. */
export interface LinkedRequest {
  readonly endpoint: Endpoint
  readonly input: Readonly<Record<string, unknown>>
  readonly query: RawQuery
}

/** Parameters of another page; undefined: without this one. */
export type PageParameters = Readonly<Record<string, string | number | undefined>>

/** Path and query of another page. */
export function toPath({ endpoint, input, query: written }: LinkedRequest, page: PageParameters): string {
  const path = endpoint.path.replaceAll(/\{(\w+)\}/g, (_, name: string) => encodeURIComponent(String(input[name])))
  const isQuery = (name: string) => name in endpoint.input.properties && inputLocation(endpoint, name) === 'query'
  const query = Object.entries({ ...written, ...page })
    .filter(([name]) => isQuery(name))
    .flatMap(([name, values]) => [values ?? []].flat().map((value) => `${name}=${encodeValue(String(value))}`))
  return query.length > 0 ? `${path}?${query.join('&')}` : path
}

/** Commas stay readable, because lists are written with them. */
const encodeValue = (text: string): string => encodeURIComponent(text).replaceAll('%2C', ',')

/** Absolute, as existing clients expect. The previous page of a page beyond the end is the last page. */
export function pageLinks(
  request: LinkedRequest & { readonly input: { readonly limit: number; readonly offset: number } },
  total: number,
  origin: string,
): { previous: string | null; next: string | null } {
  const { limit, offset } = request.input
  const linkTo = (pageOffset: number) => `${origin}${toPath(request, { limit, offset: pageOffset })}`
  return {
    previous: offset === 0 ? null : linkTo(Math.max(0, Math.min(offset, total) - limit)),
    next: offset + limit < total ? linkTo(offset + limit) : null,
  }
}
