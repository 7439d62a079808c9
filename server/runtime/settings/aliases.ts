// What is wrong with a table of path aliases beyond its form: a name that stands on one side only would be written as
// nothing, and the caller would be sent to a path that nobody meant; one that leads nowhere is a slip (behaviour/http.md#aliases). Pure.
import { allRoutes } from '#api/routes.ts'
import type { Problem } from '#core/fault.ts'

/** Paths beside the contract that may have another name; the console's calls are its own pages' affair. */
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
    if (!path.startsWith('/')) return `must lead from one path to another; ${path} does not begin with /`
    if (/[{}]/.test(path.replaceAll(/\{\w+\}/g, ''))) return `has a brace in ${path} that names nothing; write {name}`
    if (/[?#]/.test(path)) return `must be paths alone; ${path} has a query`
  }
  // A pattern with two of them could take seconds for one long path.
  if (from.split('/').some((segment) => namesIn(segment).length > 1)) return `has two names in one segment of ${from}`
  const known = namesIn(from)
  const twice = known.find((name, at) => known.indexOf(name) !== at)
  if (twice !== undefined) return `names {${twice}} twice in ${from}`
  if (known.some((name) => /^\d/.test(name))) return `has a name in ${from} that begins with a digit`
  const lost = namesIn(to).find((name) => !known.includes(name))
  if (lost === undefined) return matchesServedPath(to) ? undefined : `leads to ${to}, which is no path of this server`
  const offer =
    known.length === 0 ? `${from} names nothing` : `${from} names ${known.map((name) => `{${name}}`).join()}`
  return `leads to {${lost}}, but ${offer}; use the same name on both sides`
}

/** A name may turn out to be any segment, or part of one. */
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
