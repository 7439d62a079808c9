// Broken servers for the test of the conformance suite. `createBrokenFetch` changes one thing in the requests or
// responses of a correct server. The other files of this folder list such changes, and the check that must find each.

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
  /** A key with all permissions. */
  readonly goodKey: string
}

export interface Change {
  /** May change URL and headers in place. Returns the new body, if it changes. */
  readonly alterRequest?: (request: ClientRequest) => string | undefined
  readonly alterReply?: (reply: ServerReply, request: ClientRequest) => Partial<ServerReply> | undefined
}

/** A description, the id of the check that must find it, and the change. */
export type Defect = readonly [name: string, checkId: string, change: Change]

/** `send`: how requests reach the correct server. */
export function createBrokenFetch(
  { alterRequest, alterReply }: Change,
  goodKey: string,
  send: typeof globalThis.fetch,
): typeof globalThis.fetch {
  return async (input, init = {}) => {
    const request: ClientRequest = {
      url: new URL(String(input)),
      method: init.method ?? 'GET',
      headers: new Headers(init.headers),
      body: String(init.body ?? ''),
      goodKey,
    }
    const body = alterRequest?.(request) ?? init.body
    const response = await send(request.url, { ...init, headers: request.headers, ...(body != null && { body }) })
    const correct: ServerReply = {
      status: response.status,
      headers: new Headers(response.headers),
      text: await response.text(),
    }
    const reply = { ...correct, ...alterReply?.(correct, request) }
    const isEmpty = [204, 304].includes(reply.status) || request.method === 'HEAD'
    return new Response(isEmpty ? null : reply.text, { status: reply.status, headers: reply.headers })
  }
}

/** Replaces one status by another. */
export const status = (from: number, to: number): Change => ({
  alterReply: (reply) => (reply.status === from ? { status: to } : undefined),
})

/** Returns this status for matching requests. */
export const statusWhere = (to: number, where: (request: ClientRequest) => boolean): Change => ({
  alterReply: (_, request) => (where(request) ? { status: to } : undefined),
})

/** Replaces text in responses whose path contains `part`. */
export const replaceText = (from: string | RegExp, to: string, part = '/'): Change => ({
  alterReply: ({ text }, { url }) => (url.pathname.includes(part) ? { text: text.replaceAll(from, to) } : undefined),
})

/** Replaces the whole text of matching responses. */
export const textWhere = (to: string, where: (reply: ServerReply, request: ClientRequest) => boolean): Change => ({
  alterReply: (reply, request) => (where(reply, request) ? { text: to } : undefined),
})

/** Renames a field wherever it occurs. */
export const renameField = (part: string, from: string, to: string): Change =>
  replaceText(`"${from}":`, `"${to}":`, part)

/** Removes a response header, or replaces its value. */
export const replaceHeader = (name: string, value?: string): Change => ({
  alterReply: ({ headers }) => {
    if (value === undefined) headers.delete(name)
    else headers.set(name, value)
    return { headers }
  },
})

/** Removes a request header, or replaces its value. */
export const ignoreRequestHeader = (name: string, value?: string): Change => ({
  alterRequest: ({ headers }) => {
    if (value === undefined) headers.delete(name)
    else headers.set(name, value)
    return undefined
  },
})

/** Removes a query parameter. */
export const ignoreParameter = (name: string): Change => query((search) => search.delete(name))

/** Sets a query parameter that is missing. */
export const changeDefault = (name: string, value: string): Change =>
  query((search) => {
    if (!search.has(name)) search.set(name, value)
  })

/** Replaces the value of a query parameter: `from`, or any value. */
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

/** Changes the body of requests. */
export const replaceBody = (from: string | RegExp, to: string): Change => ({
  alterRequest: ({ body }) => body.replace(from, to),
})

/** Replaces every key by one with all permissions. */
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
 * Replaces the value at a path such as `data.*.uptime` in JSON responses whose URL path contains `part`.
 * Undefined removes the field. Responses without the field are unchanged.
 */
export const replaceValue = (
  part: string,
  path: string,
  value: ChangeValue,
  where: (request: ClientRequest) => boolean = () => true,
): Change => ({
  alterReply: ({ text }, request) => {
    if (!request.url.pathname.includes(part) || text === '' || !where(request)) return undefined
    const body: Value = JSON.parse(text)
    changeAt(body, path.split('.'), value)
    return { text: JSON.stringify(body) }
  },
})

function changeAt(holder: Value, [name = '', ...rest]: readonly string[], value: ChangeValue): void {
  if (typeof holder !== 'object' || holder === null) return
  const members = holder as Record<string, Value>
  const names = name === '*' ? Object.keys(members) : [name]
  for (const key of names) {
    if (rest.length > 0) changeAt(members[key], rest, value)
    else members[key] = value(members[key], members)
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
