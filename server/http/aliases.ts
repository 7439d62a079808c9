// Translates configured aliases of paths, request headers and response fields, and leaves hidden fields out
// (behaviour/http.md#aliases). All other code uses the names of the specification.

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

/** Works on the text, so that numbers, order and spacing do not change. A key is a string followed by a colon. */
function renameKeys(json: string, names: ReadonlyMap<string, string>): string {
  return json.replace(/"((?:[^"\\]|\\.)*)"(\s*:)?/g, (token, text: string, colon: string | undefined) => {
    const name = colon === undefined ? undefined : names.get(text)
    return name === undefined ? token : `${JSON.stringify(name)}${colon}`
  })
}

/** Works on the text, as `renameKeys` does. With a member goes the comma after it, or before it if it is the last one. */
function removeMembers(json: string, hidden: ReadonlySet<string>): string {
  if (hidden.size === 0) return json
  const key = /"((?:[^"\\]|\\.)*)"(\s*:\s*)?/g
  const kept: string[] = []
  let from = 0
  for (let match = key.exec(json); match; match = key.exec(json)) {
    const [, name = '', colon] = match
    if (colon === undefined || !hidden.has(name)) continue
    kept.push(json.slice(from, match.index))
    from = endOfValue(json, key.lastIndex)
    const comma = /\s*,\s*/y
    comma.lastIndex = from
    if (comma.test(json)) from = comma.lastIndex
    else dropComma(kept)
    key.lastIndex = from
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
  const token = /"(?:[^"\\]|\\.)*"|[{}[\]]|[^\s,{}[\]"]+/g
  token.lastIndex = start
  let depth = 0
  for (let match = token.exec(json); match; match = token.exec(json)) {
    const [text] = match
    if (text === '{' || text === '[') depth += 1
    if (text === '}' || text === ']') depth -= 1
    if (depth === 0) return token.lastIndex
  }
  return json.length
}
