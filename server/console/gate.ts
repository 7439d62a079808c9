// What a call of the console has to show: the session's cookie, and for a call that changes something that it comes from a
// page of ours. A cookie travels with every request a browser makes, whoever caused it; SameSite=Strict keeps it at home,
// and this is the second lock (decision 0126).
import { parseJson } from '#api/json.ts'
import type { Static, TSchema } from '#api/kit.ts'
import { checker } from '#core/check.ts'
import { Fault } from '#core/fault.ts'
import type { Request } from '#serve/pipeline.ts'
import type { Departure } from '#serve/render.ts'
import type { Extra } from '#serve/ways.ts'
import { findSession, type Session, type SessionContext, sessionMs, type Token } from './sessions.ts'

const cookieName = 'tetrad-session'

/** The operator's session, if the request shows one that is good. */
export async function sessionOf(
  context: Pick<SessionContext, 'state' | 'clock'>,
  request: Request,
): Promise<Session | undefined> {
  const token = cookieOf(request.headers.cookie ?? '')
  return token === undefined ? undefined : findSession(context, token)
}

export async function needSession(
  context: Pick<SessionContext, 'state' | 'clock'>,
  request: Request,
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
export function cookieHeader(request: Request, given?: Token): string {
  const secure = request.origin.startsWith('https:') ? '; Secure' : ''
  const maxAge = given ? sessionMs / 1000 : 0
  return `${cookieName}=${given?.token ?? ''}; Path=/console; HttpOnly; SameSite=Strict; Max-Age=${maxAge}${secure}`
}

/** Refuses a change that a page of another origin could have caused. */
export function needOwnPage(request: Request): void {
  if (!isOwnPage(request)) throw new Fault('console.origin')
  if (!/^application\/json\s*(;|$)/i.test(request.contentType)) throw new Fault('body.type')
}

function isOwnPage({ headers, origin }: Request): boolean {
  // No script can set this one; browsers leave it out where a page came over plain HTTP from another machine.
  const site = headers['sec-fetch-site']
  if (site !== undefined) return site === 'same-origin'
  const from = URL.parse(headers.origin ?? '')
  return from !== null && (from.origin === origin || from.host === headers.host)
}

type Handler = NonNullable<Extra['reply']>

/** A call that only the operator may make. */
export const forOperator =
  (context: Pick<SessionContext, 'state' | 'clock'>, handler: Handler): Handler =>
  async (request) => {
    await needSession(context, request)
    return handler(request)
  }

/** One that changes something, and so must come from a page of ours as well. */
export const changeByOperator = (context: Pick<SessionContext, 'state' | 'clock'>, handler: Handler): Handler =>
  forOperator(context, async (request) => {
    needOwnPage(request)
    return handler(request)
  })

/** The body as the schema wants it. */
export function bodyOf<S extends TSchema>(request: Request, schema: S): Static<S> {
  const value = read(request.body)
  const problems = checker(schema)(value)
  if (problems.length > 0) throw new Fault('input.invalid', { problems })
  return value as Static<S>
}

function read(bytes: Uint8Array | undefined): unknown {
  try {
    return parseJson(new TextDecoder('utf-8', { fatal: true }).decode(bytes))
  } catch (cause) {
    throw new Fault('body.unreadable', { cause })
  }
}

export const json = (body: unknown, headers: Record<string, string> = {}): Departure => ({
  status: 200,
  headers: { 'content-type': 'application/json; charset=utf-8', ...headers },
  body: JSON.stringify(body),
})
