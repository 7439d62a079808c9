// For the suite's own test: a server that is wrong in one point. It stands between the suite and a good server and
// changes what is asked or what is answered. Here are the ways to be wrong; the tables beside this file use them.

export interface Given {
  readonly status: number
  readonly headers: Headers
  readonly text: string
}

export interface Asked {
  readonly url: URL
  readonly method: string
  readonly headers: Headers
  readonly body: string
  /** A key that opens everything. */
  readonly goodKey: string
}

export interface Change {
  /** May change URL and headers in place; what it returns is the new body. */
  readonly ask?: (asked: Asked) => string | undefined
  readonly give?: (given: Given, asked: Asked) => Partial<Given> | undefined
}

/** What is wrong, the check that must find it, and how it is done. */
export type Break = readonly [name: string, finds: string, change: Change]

export function brokenFetch({ ask, give }: Change, goodKey: string): typeof globalThis.fetch {
  return async (input, init = {}) => {
    const asked: Asked = {
      url: new URL(String(input)),
      method: init.method ?? 'GET',
      headers: new Headers(init.headers),
      body: String(init.body ?? ''),
      goodKey,
    }
    const body = ask?.(asked) ?? init.body
    const response = await fetch(asked.url, { ...init, headers: asked.headers, ...(body != null && { body }) })
    const good: Given = { status: response.status, headers: new Headers(response.headers), text: await response.text() }
    const given = { ...good, ...give?.(good, asked) }
    const isEmpty = [204, 304].includes(given.status) || asked.method === 'HEAD'
    return new Response(isEmpty ? null : given.text, { status: given.status, headers: given.headers })
  }
}

/** One status instead of another. */
export const status = (from: number, to: number): Change => ({
  give: (given) => (given.status === from ? { status: to } : undefined),
})

/** This status where the request is such a one. */
export const statusWhere = (to: number, where: (asked: Asked) => boolean): Change => ({
  give: (_, asked) => (where(asked) ? { status: to } : undefined),
})

/** Other words in the text of answers whose path has `part` in it. */
export const words = (from: string | RegExp, to: string, part = '/'): Change => ({
  give: ({ text }, { url }) => (url.pathname.includes(part) ? { text: text.replaceAll(from, to) } : undefined),
})

/** Another text altogether where the answer is such a one. */
export const textWhere = (to: string, where: (given: Given, asked: Asked) => boolean): Change => ({
  give: (given, asked) => (where(given, asked) ? { text: to } : undefined),
})

/** A field under another name, wherever it stands. */
export const renamed = (part: string, from: string, to: string): Change => words(`"${from}":`, `"${to}":`, part)

/** A header that is not answered, or with another value. */
export const header = (name: string, value?: string): Change => ({
  give: ({ headers }) => {
    if (value === undefined) headers.delete(name)
    else headers.set(name, value)
    return { headers }
  },
})

/** A request header that is not heeded, or taken for another. */
export const unheard = (name: string, value?: string): Change => ({
  ask: ({ headers }) => {
    if (value === undefined) headers.delete(name)
    else headers.set(name, value)
    return undefined
  },
})

/** A query parameter that is not heeded. */
export const ignored = (name: string): Change => query((search) => search.delete(name))

/** A default that is another. */
export const defaulted = (name: string, value: string): Change =>
  query((search) => {
    if (!search.has(name)) search.set(name, value)
  })

/** A value that is taken for another; whatever it is, when `from` is left out. */
export const taken = (name: string, to: string, from?: string): Change =>
  query((search) => {
    if (from === undefined || search.get(name) === from) search.set(name, to)
  })

const query = (change: (search: URLSearchParams) => void): Change => ({
  ask: ({ url }) => {
    change(url.searchParams)
    return undefined
  },
})

/** The body that arrives is not the one that was sent. */
export const bodyTaken = (from: string | RegExp, to: string): Change => ({ ask: ({ body }) => body.replace(from, to) })

/** Every caller is taken for one who may do everything. */
export const anyKey: Change = {
  ask: ({ url, headers, goodKey }) => {
    url.searchParams.set('apikey', goodKey)
    headers.set('authorization', `Bearer ${goodKey}`)
    return undefined
  },
}

type Value = unknown
type Put = (before: Value, holder: Readonly<Record<string, Value>>) => Value

/**
 * Another value at a place in the JSON of answers whose path has `part` in it: `data.*.uptime`; undefined takes it out.
 * Where there is no such place nothing is changed.
 */
export const put = (
  part: string,
  place: string,
  value: Put,
  where: (asked: Asked) => boolean = () => true,
): Change => ({
  give: ({ text }, asked) => {
    if (!asked.url.pathname.includes(part) || text === '' || !where(asked)) return undefined
    const body: Value = JSON.parse(text)
    change(body, place.split('.'), value)
    return { text: JSON.stringify(body) }
  },
})

function change(holder: Value, [name = '', ...rest]: readonly string[], value: Put): void {
  if (typeof holder !== 'object' || holder === null) return
  const members = holder as Record<string, Value>
  const names = name === '*' ? Object.keys(members) : [name]
  for (const one of names) {
    if (rest.length > 0) change(members[one], rest, value)
    else members[one] = value(members[one], members)
  }
}

export const plus =
  (more: number): Put =>
  (before) =>
    Number(before) + more
export const times =
  (factor: number): Put =>
  (before) =>
    Number(before) * factor
export const always =
  (value: Value): Put =>
  () =>
    value
export const withoutLast: Put = (before) => (Array.isArray(before) ? before.slice(0, -1) : before)
export const reversed: Put = (before) => (Array.isArray(before) ? before.toReversed() : before)
