// Links to other pages of a response. They are built from the parsed input, so they have neither unknown parameters nor
// defaults.
import type { Endpoint } from '#api/kit.ts'
import { inputLocation } from '#api/routes.ts'

/** Path and query of `endpoint` with this input. `always`: parameters to write even if they have their default. */
export function toPath(
  endpoint: Endpoint,
  input: Readonly<Record<string, unknown>>,
  always: readonly string[],
): string {
  const path = endpoint.path.replaceAll(/\{(\w+)\}/g, (_, name: string) => encodeURIComponent(String(input[name])))
  const query = Object.entries(endpoint.input.properties)
    .filter(([name]) => inputLocation(endpoint, name) === 'query' && input[name] !== undefined)
    .filter(([name, schema]) => always.includes(name) || input[name] !== (schema as { default?: unknown }).default)
    .map(
      ([name]) =>
        `${name}=${[input[name]]
          .flat()
          .map((value) => encodeURIComponent(String(value)))
          .join()}`,
    )
  return query.length > 0 ? `${path}?${query.join('&')}` : path
}

/** Absolute, as existing clients expect. The previous page of a page beyond the end is the last page. */
export function pageLinks(
  endpoint: Endpoint,
  query: Readonly<Record<string, unknown>> & { readonly limit: number; readonly offset: number },
  total: number,
  origin: string,
): { previous: string | null; next: string | null } {
  const { limit, offset } = query
  const linkTo = (pageOffset: number) =>
    `${origin}${toPath(endpoint, { ...query, offset: pageOffset }, ['limit', 'offset'])}`
  return {
    previous: offset === 0 ? null : linkTo(Math.max(0, Math.min(offset, total) - limit)),
    next: offset + limit < total ? linkTo(offset + limit) : null,
  }
}
