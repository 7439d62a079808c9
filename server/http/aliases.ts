// Other spellings of paths, request headers and response fields, from the configuration (behaviour/http.md#aliases). The house
// itself knows only the specification's spelling; this file translates at the door.

export interface Aliases {
  /** The path served here for the path a caller used; query strings are untouched. */
  path(url: string): string
  /** Adds the known header where the caller sent the other one. */
  requestHeaders(headers: Record<string, string | string[] | undefined>): void
  /** Renames object keys in a JSON text; undefined when there is nothing to rename. */
  readonly responseFields: ((json: string) => string) | undefined
}

export interface AliasTables {
  readonly paths: Readonly<Record<string, string>>
  readonly requestHeaders: Readonly<Record<string, string>>
  readonly responseFields: Readonly<Record<string, string>>
}

export function aliases(tables: AliasTables): Aliases {
  const paths = Object.entries(tables.paths).map(([from, to]) => ({ from: pattern(from), to }))
  const headers = Object.entries(tables.requestHeaders).map(
    ([from, to]) => [from.toLowerCase(), to.toLowerCase()] as const,
  )
  const fields = new Map(Object.entries(tables.responseFields))
  return {
    path: paths.length === 0 ? (url) => url : (url) => rewrite(paths, url),
    requestHeaders(sent) {
      for (const [from, to] of headers) if (sent[from] !== undefined) sent[to] ??= sent[from]
    },
    responseFields: fields.size === 0 ? undefined : (json) => renameKeys(json, fields),
  }
}

/** `/old/{id}/x` as an expression with a named group for each `{name}`. */
function pattern(template: string): RegExp {
  const source = template
    .split(/\{(\w+)\}/)
    .map((part, at) => (at % 2 === 1 ? `(?<${part}>[^/?#]+)` : part.replace(/[.*+?^${}()|[\]\\]/g, '\\$&')))
    .join('')
  return new RegExp(`^${source}$`)
}

function rewrite(paths: readonly { from: RegExp; to: string }[], url: string): string {
  const mark = url.indexOf('?')
  const path = mark < 0 ? url : url.slice(0, mark)
  for (const { from, to } of paths) {
    const found = from.exec(path)
    if (found) {
      const target = to.replace(/\{(\w+)\}/g, (_, name: string) => found.groups?.[name] ?? '')
      return mark < 0 ? target : target + url.slice(mark)
    }
  }
  return url
}

/** Works on the text so that numbers, order and spacing stay as they are: a key is a string followed by a colon. */
function renameKeys(json: string, names: ReadonlyMap<string, string>): string {
  return json.replace(/"((?:[^"\\]|\\.)*)"(\s*:)?/g, (token, text: string, colon: string | undefined) => {
    const name = colon === undefined ? undefined : names.get(text)
    return name === undefined ? token : `${JSON.stringify(name)}${colon}`
  })
}
