// Translates configured aliases of paths, request headers and response fields (behaviour/http.md#aliases). All other code
// uses the names of the specification.

export interface Aliases {
  /** Replaces an alias in the path of a URL. */
  path(url: string): string
  /** Adds the headers for which an alias was sent. */
  requestHeaders(headers: Record<string, string | string[] | undefined>): void
  /** Renames object keys in a JSON text; undefined without aliases. */
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

/** `/old/{id}/x` as a regular expression with a named group for each `{name}`. */
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
