// Links to other pages of the same question. They are built from what was understood, not from the text of the request:
// an unknown parameter is not carried along, a default needs no mention.
import type { Endpoint } from '#api/kit.ts'
import { inputLocation } from '#api/routes.ts'

/** Path and query of `endpoint` asked with these inputs. `always` are written even when they have their default. */
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

/** To the pages around this one. Absolute, as existing clients expect; a page beyond the end leads back to the last one. */
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
