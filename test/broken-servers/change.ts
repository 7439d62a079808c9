// For the suite's own test: a server that is wrong in one point. It stands between the suite and a good server and
// changes what is asked or what is answered. Here are the ways to be wrong; the tables beside this file use them.

export interface ServerReply {
  readonly status: number
  readonly headers: Headers
  readonly text: string
}

export interface ClientRequest {
  readonly url: URL
  readonly method: string
  readonly headers: Headers
  readonly body: string
  /** A key that opens everything. */
  readonly goodKey: string
}

export interface Change {
  /** May change URL and headers in place; what it returns is the new body. */
  readonly alterRequest?: (asked: ClientRequest) => string | undefined
  readonly alterReply?: (given: ServerReply, asked: ClientRequest) => Partial<ServerReply> | undefined
}

/** What is wrong, the check that must find it, and how it is done. */
export type Defect = readonly [name: string, finds: string, change: Change]

export function createBrokenFetch(
  { alterRequest: ask, alterReply: give }: Change,
  goodKey: string,
): typeof globalThis.fetch {
  return async (input, init = {}) => {
    const request: ClientRequest = {
      url: new URL(String(input)),
      method: init.method ?? 'GET',
      headers: new Headers(init.headers),
      body: String(init.body ?? ''),
      goodKey,
    }
    const body = ask?.(request) ?? init.body
    const response = await fetch(request.url, { ...init, headers: request.headers, ...(body != null && { body }) })
    const good: ServerReply = {
      status: response.status,
      headers: new Headers(response.headers),
      text: await response.text(),
    }
    const reply = { ...good, ...give?.(good, request) }
    const isEmpty = [204, 304].includes(reply.status) || request.method === 'HEAD'
    return new Response(isEmpty ? null : reply.text, { status: reply.status, headers: reply.headers })
  }
}

/** One status instead of another. */
export const status = (from: number, to: number): Change => ({
  alterReply: (given) => (given.status === from ? { status: to } : undefined),
})

/** This status where the request is such a one. */
export const statusWhere = (to: number, where: (asked: ClientRequest) => boolean): Change => ({
  alterReply: (_, asked) => (where(asked) ? { status: to } : undefined),
})

/** Other words in the text of answers whose path has `part` in it. */
export const replaceText = (from: string | RegExp, to: string, part = '/'): Change => ({
  alterReply: ({ text }, { url }) => (url.pathname.includes(part) ? { text: text.replaceAll(from, to) } : undefined),
})

/** Another text altogether where the answer is such a one. */
export const textWhere = (to: string, where: (given: ServerReply, asked: ClientRequest) => boolean): Change => ({
  alterReply: (given, asked) => (where(given, asked) ? { text: to } : undefined),
})

/** A field under another name, wherever it stands. */
export const renameField = (part: string, from: string, to: string): Change =>
  replaceText(`"${from}":`, `"${to}":`, part)

/** A header that is not answered, or with another value. */
export const replaceHeader = (name: string, value?: string): Change => ({
  alterReply: ({ headers }) => {
    if (value === undefined) headers.delete(name)
    else headers.set(name, value)
    return { headers }
  },
})

/** A request header that is not heeded, or taken for another. */
export const ignoreRequestHeader = (name: string, value?: string): Change => ({
  alterRequest: ({ headers }) => {
    if (value === undefined) headers.delete(name)
    else headers.set(name, value)
    return undefined
  },
})

/** A query parameter that is not heeded. */
export const ignoreParameter = (name: string): Change => query((search) => search.delete(name))

/** A default that is another. */
export const changeDefault = (name: string, value: string): Change =>
  query((search) => {
    if (!search.has(name)) search.set(name, value)
  })

/** A value that is taken for another; whatever it is, when `from` is left out. */
export const replaceParameter = (name: string, to: string, from?: string): Change =>
  query((search) => {
    if (from === undefined || search.get(name) === from) search.set(name, to)
  })

const query = (change: (search: URLSearchParams) => void): Change => ({
  alterRequest: ({ url }) => {
    change(url.searchParams)
    return undefined
  },
})

/** The body that arrives is not the one that was sent. */
export const replaceBody = (from: string | RegExp, to: string): Change => ({
  alterRequest: ({ body }) => body.replace(from, to),
})

/** Every caller is taken for one who may do everything. */
export const anyKey: Change = {
  alterRequest: ({ url, headers, goodKey }) => {
    url.searchParams.set('apikey', goodKey)
    headers.set('authorization', `Bearer ${goodKey}`)
    return undefined
  },
}

type Value = unknown
type ChangeValue = (before: Value, holder: Readonly<Record<string, Value>>) => Value

/**
 * Another value at a place in the JSON of answers whose path has `part` in it: `data.*.uptime`; undefined takes it out.
 * Where there is no such place nothing is changed.
 */
export const replaceValue = (
  part: string,
  path: string,
  value: ChangeValue,
  where: (asked: ClientRequest) => boolean = () => true,
): Change => ({
  alterReply: ({ text }, asked) => {
    if (!asked.url.pathname.includes(part) || text === '' || !where(asked)) return undefined
    const body: Value = JSON.parse(text)
    changeAt(body, path.split('.'), value)
    return { text: JSON.stringify(body) }
  },
})

function changeAt(holder: Value, [name = '', ...rest]: readonly string[], value: ChangeValue): void {
  if (typeof holder !== 'object' || holder === null) return
  const members = holder as Record<string, Value>
  const names = name === '*' ? Object.keys(members) : [name]
  for (const one of names) {
    if (rest.length > 0) changeAt(members[one], rest, value)
    else members[one] = value(members[one], members)
  }
}

export const plus =
  (more: number): ChangeValue =>
  (before) =>
    Number(before) + more
export const times =
  (factor: number): ChangeValue =>
  (before) =>
    Number(before) * factor
export const constant =
  (value: Value): ChangeValue =>
  () =>
    value
export const withoutLast: ChangeValue = (before) => (Array.isArray(before) ? before.slice(0, -1) : before)
export const reversed: ChangeValue = (before) => (Array.isArray(before) ? before.toReversed() : before)
