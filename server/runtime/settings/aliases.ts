// Checks path aliases: both sides must have the same placeholders, and the target must be a path of this server
// (behaviour/http.md#aliases).
import { allRoutes } from '#api/contract/routes.ts'
import type { Problem } from '#core/fault.ts'

/** Paths outside the contract that may have an alias. */
export const extraPaths = [
  ...(['/', '/docs', '/openapi.json', '/healthz', '/readyz', '/metrics', '/coverage'] as const),
  '/exports/{chain}/labelmasterlist_latest.{format}',
] as const

const served = [...new Set([...Object.values(allRoutes).map(({ path }) => path), ...extraPaths])]
const servedSegments = served.map((path) => path.split('/'))

export function aliasProblems({ paths }: { readonly paths: Readonly<Record<string, string>> }): readonly Problem[] {
  return Object.entries(paths).flatMap(([from, to]) => {
    const message = validateAlias(from, to)
    return message === undefined ? [] : [{ at: ['aliases', 'paths', from], message }]
  })
}

function validateAlias(from: string, to: string): string | undefined {
  for (const path of [from, to]) {
    if (!path.startsWith('/')) return `must be a path on both sides; ${path} does not start with /`
    if (/[{}]/.test(path.replaceAll(/\{\w+\}/g, ''))) return `has an invalid brace in ${path}; write {name}`
    if (/[?#]/.test(path)) return `must not contain a query or fragment; ${path} does`
  }
  // Matching a pattern with two of them could take seconds for a long path.
  if (from.split('/').some((segment) => namesIn(segment).length > 1)) return `has two names in one segment of ${from}`
  const placeholders = namesIn(from)
  const twice = placeholders.find((name, at) => placeholders.indexOf(name) !== at)
  if (twice !== undefined) return `has {${twice}} twice in ${from}`
  if (placeholders.some((name) => /^\d/.test(name))) return `has a name in ${from} that starts with a digit`
  const unknownName = namesIn(to).find((name) => !placeholders.includes(name))
  if (unknownName === undefined)
    return matchesServedPath(to) ? undefined : `leads to ${to}, which is not a path of this server`
  const available =
    placeholders.length === 0 ? `${from} has no names` : `${from} has ${placeholders.map((name) => `{${name}}`).join()}`
  return `uses {${unknownName}}, but ${available}; use the same names on both sides`
}

/** A placeholder matches any segment or part of one. */
function matchesServedPath(to: string): boolean {
  const segments = to.split('/')
  const isName = (segment: string) => segment.includes('{')
  return servedSegments.some(
    (path) =>
      path.length === segments.length &&
      path.every((segment, at) => isName(segment) || isName(segments[at] ?? '') || segment === segments[at]),
  )
}

const namesIn = (path: string): string[] => [...path.matchAll(/\{(\w+)\}/g)].map(([, name = '']) => name)
