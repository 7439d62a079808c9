// Translates configured aliases of paths, request headers and response fields, and leaves hidden fields out
// (behaviour/http.md#aliases). All other code uses the names of the specification.
import { hash } from 'node:crypto'
import { endOfString } from '#api/contract/end-of-string.ts'

export interface AliasTables {
  readonly paths: Readonly<Record<string, string>>
  readonly requestHeaders: Readonly<Record<string, string>>
  readonly responseFields: Readonly<Record<string, string>>
  readonly hiddenFields: readonly string[]
}

/** Whether responses are changed, so that they cannot be sent as they are stored. */
export const changesResponses = ({ responseFields, hiddenFields }: AliasTables): boolean =>
  hiddenFields.length > 0 || Object.keys(responseFields).length > 0

export type Aliases = ReturnType<typeof aliases>

export function aliases(tables: AliasTables) {
  const paths = Object.entries(tables.paths).map(([from, to]) => ({ from: pathPattern(from), to }))
  const headers = Object.entries(tables.requestHeaders).map(
    ([from, to]) => [from.toLowerCase(), to.toLowerCase()] as const,
  )
  const names = new Map(Object.entries(tables.responseFields))
  const hidden = new Set(tables.hiddenFields)
  return {
    /** Replaces an alias in the path of a URL. */
    path: paths.length === 0 ? (url: string) => url : (url: string) => rewrite(paths, url),
    /** Adds the headers for which an alias was sent. */
    requestHeaders(sent: Record<string, string | string[] | undefined>): void {
      for (const [from, to] of headers) if (sent[from] !== undefined) sent[to] ??= sent[from]
    },
    /** Renames and removes members of objects in a JSON text; undefined if there is nothing to change. */
    responseFields: changesResponses(tables)
      ? (json: string): string => renameKeys(removeMembers(json, hidden), names)
      : undefined,
    conditions: changesResponses(tables) ? aliasedConditions(tables) : undefined,
  }
}

/**
 * Etags of changed responses end with a mark of the aliases, and dates are not used: with other aliases, a record that
 * did not change has other bytes. Handlers know only the etag of the record.
 */
function aliasedConditions({ responseFields, hiddenFields }: AliasTables) {
  const mark = `-${hash('sha256', JSON.stringify([responseFields, hiddenFields]), 'base64url').slice(0, 8)}"`
  return {
    /** Replaces etags of responses with these aliases by those of the records, and removes all others. */
    read(headers: Record<string, string | undefined>): void {
      delete headers['if-modified-since']
      const noneMatch = headers['if-none-match']
      if (noneMatch === undefined || noneMatch.trim() === '*') return
      const kept = [...noneMatch.matchAll(/"[^"]*"/g)].flatMap(([tag]) =>
        tag.endsWith(mark) ? [`${tag.slice(0, -mark.length)}"`] : [],
      )
      headers['if-none-match'] = kept.join(', ')
    },
    write({ etag, 'last-modified': _, ...headers }: Record<string, string>): Record<string, string> {
      return etag === undefined ? headers : { ...headers, etag: `${etag.slice(0, -1)}${mark}` }
    },
  }
}

/** `/old/{id}/x` as a regular expression with a named group for each `{name}`. */
export function pathPattern(template: string): RegExp {
  const parts = template.split(/\{(\w+)\}/)
  const sources = parts.map((part, at) => (at % 2 === 1 ? `(?<${part}>[^/?#]+)` : RegExp.escape(part)))
  return new RegExp(`^${sources.join('')}$`)
}

function rewrite(paths: readonly { from: RegExp; to: string }[], url: string): string {
  const mark = url.indexOf('?')
  const path = mark < 0 ? url : url.slice(0, mark)
  for (const { from, to } of paths) {
    const match = from.exec(path)
    if (match) {
      const target = to.replace(/\{(\w+)\}/g, (_, name: string) => match.groups?.[name] ?? '')
      return mark < 0 ? target : target + url.slice(mark)
    }
  }
  return url
}

/** A string in JSON text, and the colon after it if it is the name of a member. */
interface FoundString {
  readonly start: number
  readonly end: number
  /** Not decoded. */
  readonly text: string
  /** The end of the colon and of the space around it. Undefined for a value. */
  readonly valueStart: number | undefined
}

function findString(json: string, from: number): FoundString | undefined {
  const start = json.indexOf('"', from)
  if (start < 0) return undefined
  const end = endOfString(json, start)
  const colon = /\s*:\s*/y
  colon.lastIndex = end
  const valueStart = colon.test(json) ? colon.lastIndex : undefined
  return { start, end, text: json.slice(start + 1, end - 1), valueStart }
}

/** Works on the text, so that numbers, order and spacing do not change. */
function renameKeys(json: string, names: ReadonlyMap<string, string>): string {
  if (names.size === 0) return json
  const parts: string[] = []
  let from = 0
  for (let found = findString(json, 0); found; found = findString(json, found.end)) {
    const name = found.valueStart === undefined ? undefined : names.get(found.text)
    if (name === undefined) continue
    parts.push(json.slice(from, found.start), JSON.stringify(name))
    from = found.end
  }
  return parts.join('') + json.slice(from)
}

/** Works on the text, as `renameKeys` does. With a member goes the comma after it, or before it if it is the last one. */
function removeMembers(json: string, hidden: ReadonlySet<string>): string {
  if (hidden.size === 0) return json
  const kept: string[] = []
  let from = 0
  let next = 0
  for (let found = findString(json, next); found; found = findString(json, next)) {
    next = found.end
    if (found.valueStart === undefined || !hidden.has(found.text)) continue
    kept.push(json.slice(from, found.start))
    from = endOfValue(json, found.valueStart)
    const comma = /\s*,\s*/y
    comma.lastIndex = from
    if (comma.test(json)) from = comma.lastIndex
    else dropComma(kept)
    next = from
  }
  return kept.join('') + json.slice(from)
}

/** Removes a comma at the end of the text. */
function dropComma(parts: string[]): void {
  while (parts.at(-1) === '') parts.pop()
  const last = parts.pop() ?? ''
  const text = last.trimEnd()
  parts.push(text.endsWith(',') ? text.slice(0, -1) : last)
}

function endOfValue(json: string, start: number): number {
  const token = /[{}[\]"]|[^\s,{}[\]"]+/g
  token.lastIndex = start
  let depth = 0
  for (let match = token.exec(json); match; match = token.exec(json)) {
    const [text] = match
    if (text === '"') token.lastIndex = endOfString(json, match.index)
    if (text === '{' || text === '[') depth += 1
    if (text === '}' || text === ']') depth -= 1
    if (depth === 0) return token.lastIndex
  }
  return json.length
}
