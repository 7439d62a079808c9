// Lets an operator rename parts of the interface for existing clients (behaviour/http.md#aliases): translates aliases of
// paths and headers in requests to the names of the specification, and fields of responses to their aliases. Hidden
// fields are removed. All other code uses the names of the specification.
import { hash } from 'node:crypto'
import { endOfString } from '#api/contract/end-of-string.ts'

export interface AliasTables {
  /** Alias → path of the specification. */
  readonly paths: Readonly<Record<string, string>>
  /** Alias → header of the specification. */
  readonly requestHeaders: Readonly<Record<string, string>>
  /** Field of the specification → alias. */
  readonly responseFields: Readonly<Record<string, string>>
  readonly hiddenFields: readonly string[]
}

/** Whether responses are changed, so that they cannot be sent as they are stored. */
export const changesResponses = ({ responseFields, hiddenFields }: AliasTables): boolean =>
  hiddenFields.length > 0 || Object.keys(responseFields).length > 0

export type Aliases = ReturnType<typeof createAliases>

export function createAliases(tables: AliasTables) {
  const pathAliases = Object.entries(tables.paths).map(([alias, path]) => ({ pattern: pathPattern(alias), path }))
  const headerAliases = Object.entries(tables.requestHeaders).map(
    ([alias, header]) => [alias.toLowerCase(), header.toLowerCase()] as const,
  )
  const fieldAliases = new Map(Object.entries(tables.responseFields))
  const hiddenFields = new Set(tables.hiddenFields)
  return {
    /** Replaces an alias in the path of a URL. */
    resolvePath: pathAliases.length === 0 ? (url: string) => url : (url: string) => replacePath(pathAliases, url),
    /** Adds the headers for which an alias was sent. */
    addHeaders(sent: Record<string, string | string[] | undefined>): void {
      for (const [alias, header] of headerAliases) if (sent[alias] !== undefined) sent[header] ??= sent[alias]
    },
    /** Renames and removes members of objects in a JSON text; undefined if there is nothing to change. */
    changeFields: changesResponses(tables)
      ? (json: string): string => renameMembers(removeMembers(json, hiddenFields), fieldAliases)
      : undefined,
    /** Undefined if responses are not changed. */
    etags: changesResponses(tables) ? aliasedEtags(tables) : undefined,
  }
}

/**
 * Conditional requests about responses with aliases. With other aliases, a record that did not change has other bytes, so
 * the etag of a response is that of its record with a suffix for the aliases, and dates are not used. Handlers know only
 * the etag of the record.
 */
function aliasedEtags({ responseFields, hiddenFields }: AliasTables) {
  const suffix = `-${hash('sha256', JSON.stringify([responseFields, hiddenFields]), 'base64url').slice(0, 8)}"`
  return {
    /** Changes the headers of a request: replaces etags of responses with these aliases by those of the records, and removes all others. */
    restoreIn(headers: Record<string, string | undefined>): void {
      delete headers['if-modified-since']
      const noneMatch = headers['if-none-match']
      if (noneMatch === undefined || noneMatch.trim() === '*') return
      const kept = [...noneMatch.matchAll(/"[^"]*"/g)].flatMap(([tag]) =>
        tag.endsWith(suffix) ? [`${tag.slice(0, -suffix.length)}"`] : [],
      )
      headers['if-none-match'] = kept.join(', ')
    },
    /** The headers of a response: its etag gets the suffix. */
    toResponse({ etag, 'last-modified': _, ...headers }: Record<string, string>): Record<string, string> {
      return etag === undefined ? headers : { ...headers, etag: `${etag.slice(0, -1)}${suffix}` }
    },
  }
}

/** `/old/{id}/x` as a regular expression with a named group for each `{name}`. */
export function pathPattern(template: string): RegExp {
  const parts = template.split(/\{(\w+)\}/)
  const sources = parts.map((part, at) => (at % 2 === 1 ? `(?<${part}>[^/?#]+)` : RegExp.escape(part)))
  return new RegExp(`^${sources.join('')}$`)
}

function replacePath(aliases: readonly { pattern: RegExp; path: string }[], url: string): string {
  const queryStart = url.indexOf('?')
  const sentPath = queryStart < 0 ? url : url.slice(0, queryStart)
  for (const { pattern, path } of aliases) {
    const match = pattern.exec(sentPath)
    if (match) {
      const target = path.replace(/\{(\w+)\}/g, (_, name: string) => match.groups?.[name] ?? '')
      return queryStart < 0 ? target : target + url.slice(queryStart)
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
function renameMembers(json: string, fieldAliases: ReadonlyMap<string, string>): string {
  if (fieldAliases.size === 0) return json
  const parts: string[] = []
  let from = 0
  for (let found = findString(json, 0); found; found = findString(json, found.end)) {
    const alias = found.valueStart === undefined ? undefined : fieldAliases.get(found.text)
    if (alias === undefined) continue
    parts.push(json.slice(from, found.start), JSON.stringify(alias))
    from = found.end
  }
  return parts.join('') + json.slice(from)
}

/** Works on the text, as `renameMembers` does. Also removes the comma after a member, or before it if it is the last one. */
function removeMembers(json: string, hiddenFields: ReadonlySet<string>): string {
  if (hiddenFields.size === 0) return json
  const kept: string[] = []
  let from = 0
  let next = 0
  for (let found = findString(json, next); found; found = findString(json, next)) {
    next = found.end
    if (found.valueStart === undefined || !hiddenFields.has(found.text)) continue
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
