// What a call of the console has to show: the session's cookie, and for a call that changes something that it comes from a
// page of ours. A cookie travels with every request a browser makes, whoever caused it; SameSite=Strict keeps it at home,
// and this is the second lock (behaviour/operations.md#console-sign-in).
import { parseJson } from '#api/json.ts'
import type { Static, TSchema } from '#api/kit.ts'
import { Fault } from '#core/fault.ts'
import { checker } from '#core/schema-check.ts'
import type { ApiRequest } from '#http/pipeline.ts'
import type { ApiResponse } from '#http/render.ts'
import type { ExtraRoute } from '#http/routes.ts'
import { findSession, type Session, type SessionContext, sessionMs, type Token } from './sessions.ts'

const cookieName = 'tetrad-session'

/** The operator's session, if the request shows one that is good. */
export async function sessionOf(
  context: Pick<SessionContext, 'state' | 'clock'>,
  request: ApiRequest,
): Promise<Session | undefined> {
  const token = cookieOf(request.headers.cookie ?? '')
  return token === undefined ? undefined : findSession(context, token)
}

export async function needSession(
  context: Pick<SessionContext, 'state' | 'clock'>,
  request: ApiRequest,
): Promise<Session> {
  const session = await sessionOf(context, request)
  if (!session) throw new Fault('console.session')
  return session
}

function cookieOf(header: string): string | undefined {
  for (const pair of header.split(';')) {
    const [name, value] = pair.trim().split('=', 2)
    if (name === cookieName) return value
  }
  return undefined
}

/** The header that gives the cookie to the browser, or takes it away. */
export function cookieHeader(request: ApiRequest, token?: Token): string {
  const secure = request.origin.startsWith('https:') ? '; Secure' : ''
  const maxAge = token ? sessionMs / 1000 : 0
  return `${cookieName}=${token?.token ?? ''}; Path=/console; HttpOnly; SameSite=Strict; Max-Age=${maxAge}${secure}`
}

/** Refuses a change that a page of another origin could have caused. */
export function requireSameOrigin(request: ApiRequest): void {
  if (!isSameOrigin(request)) throw new Fault('console.origin')
  if (!/^application\/json\s*(;|$)/i.test(request.contentType)) throw new Fault('body.type')
}

function isSameOrigin({ headers, origin }: ApiRequest): boolean {
  // No script can set this one; browsers leave it out where a page came over plain HTTP from another machine.
  const site = headers['sec-fetch-site']
  if (site !== undefined) return site === 'same-origin'
  const from = URL.parse(headers.origin ?? '')
  return from !== null && (from.origin === origin || from.host === headers.host)
}

type Handler = NonNullable<ExtraRoute['read']>

/** A call that only the operator may make. */
export const forOperator =
  (context: Pick<SessionContext, 'state' | 'clock'>, handler: Handler): Handler =>
  async (request) => {
    await needSession(context, request)
    return handler(request)
  }

/** One that changes something, and so must come from a page of ours as well. */
export const operatorChange = (context: Pick<SessionContext, 'state' | 'clock'>, handler: Handler): Handler =>
  forOperator(context, async (request) => {
    requireSameOrigin(request)
    return handler(request)
  })

/** The body as the schema wants it. */
export function bodyOf<S extends TSchema>(request: ApiRequest, schema: S): Static<S> {
  const value = readJson(request.body)
  const problems = checker(schema)(value)
  if (problems.length > 0) throw new Fault('input.invalid', { problems })
  return value as Static<S>
}

function readJson(bytes: Uint8Array | undefined): unknown {
  try {
    return parseJson(new TextDecoder('utf-8', { fatal: true }).decode(bytes))
  } catch (cause) {
    throw new Fault('body.unreadable', { cause })
  }
}

export const jsonResponse = (body: unknown, headers: Record<string, string> = {}): ApiResponse => ({
  status: 200,
  headers: { 'content-type': 'application/json; charset=utf-8', ...headers },
  body: JSON.stringify(body),
})
