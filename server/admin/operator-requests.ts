// Authorization of console requests (behaviour/operations.md#console-sign-in): the session cookie, and for changes also
// the same origin. Browsers send cookies with requests that other sites caused. SameSite=Strict prevents that, and the
// origin check is a second protection.
import type { Static, TSchema } from '#api/contract/kit.ts'
import { Fault, invalid } from '#core/fault.ts'
import { checker } from '#core/schema-check.ts'
import { parseJsonBody } from '#http/parse.ts'
import type { ApiRequest } from '#http/pipeline.ts'
import { jsonResponse } from '#http/render.ts'
import type { ExtraRoute } from '#http/routes.ts'
import type { AppContext } from '#server/context.ts'
import { findSession, type Session, type SessionContext, sessionMs, type Token } from './sessions.ts'

const cookieName = 'tetrad-session'

/** The operator's session, if the request has a valid one. */
export async function sessionOf(
  context: Pick<SessionContext, 'state' | 'provenTime'>,
  request: ApiRequest,
): Promise<Session | undefined> {
  const token = cookieOf(request.headers.cookie ?? '')
  return token === undefined ? undefined : findSession(context, token)
}

function cookieOf(header: string): string | undefined {
  for (const pair of header.split(';')) {
    const [name, value] = pair.trim().split('=', 2)
    if (name === cookieName) return value
  }
  return undefined
}

/** The `set-cookie` header. Without a token, it deletes the cookie. */
export function cookieHeader(request: ApiRequest, token?: Token): string {
  const secure = request.origin.startsWith('https:') ? '; Secure' : ''
  const maxAge = token ? sessionMs / 1000 : 0
  return `${cookieName}=${token?.token ?? ''}; Path=/console; HttpOnly; SameSite=Strict; Max-Age=${maxAge}${secure}`
}

/** Rejects requests that a page of another origin could have caused. */
export function requireSameOrigin(request: ApiRequest): void {
  if (!isSameOrigin(request)) throw new Fault('console.origin')
  if (!/^application\/json\s*(;|$)/i.test(request.contentType)) throw new Fault('body.type')
}

function isSameOrigin({ headers, origin }: ApiRequest): boolean {
  // Scripts cannot set this header. Browsers omit it for pages over plain HTTP from another machine.
  const site = headers['sec-fetch-site']
  if (site !== undefined) return site === 'same-origin'
  const from = URL.parse(headers.origin ?? '')
  return from !== null && (from.origin === origin || from.host === headers.host)
}

type OperatorHandler = (request: ApiRequest, context: AppContext, session: Session) => Promise<object>

/** A route that needs a session and returns JSON. Requests that change something must also have the same origin. */
export function operatorRoute(
  path: string,
  { GET, ...changes }: Readonly<Partial<Record<'GET' | 'POST' | 'DELETE', OperatorHandler>>>,
): ExtraRoute<AppContext> {
  const route = (handler: OperatorHandler, isChange: boolean) => async (request: ApiRequest, context: AppContext) => {
    const session = await sessionOf(context, request)
    if (!session) throw new Fault('console.session')
    if (isChange) requireSameOrigin(request)
    return jsonResponse(await handler(request, context, session))
  }
  const change = Object.entries(changes).map(([method, handler]) => [method, route(handler, true)])
  return { path, sameOrigin: true, change: Object.fromEntries(change), ...(GET && { read: route(GET, false) }) }
}

/** The parameter `page`, from 1. */
export function pageIn({ page = '1' }: ApiRequest['query']): number {
  if (typeof page === 'string' && /^[1-9]\d{0,6}$/.test(page)) return Number(page)
  throw invalid(['query', 'page'], 'must be a number from 1')
}

/** Parses and validates the body. */
export function bodyOf<S extends TSchema>(request: ApiRequest, schema: S): Static<S> {
  const value = parseJsonBody(request.body)
  const problems = checker(schema)(value)
  if (problems.length > 0) throw new Fault('input.invalid', { problems })
  return value as Static<S>
}
