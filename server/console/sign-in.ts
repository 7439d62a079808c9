// Signing in and out, and the key that the pages call with.
import type { ConsoleKey, ConsoleSession } from '#api/console.ts'
import { Type } from '#api/kit.ts'
import { Fault } from '#core/fault.ts'
import { networkOf } from '#core/network.ts'
import type { Guard } from '#serve/guard.ts'
import type { Request } from '#serve/pipeline.ts'
import type { Extra } from '#serve/ways.ts'
import type { AppContext } from '../context.ts'
import { bodyOf, cookieHeader, json, needOwnPage, needSession, sessionOf } from './gate.ts'
import { keyOf, signIn, signOut, type Token } from './sessions.ts'

/** Anybody may send this body, so a long one is not even read. */
const bodyBytesMax = 1024
const SignIn = Type.Object({ token: Type.String({ maxLength: 256 }) })

export function signInPaths(context: AppContext, guard: Guard): readonly Extra[] {
  return [
    {
      path: '/console/session',
      sameOrigin: true,
      reply: async (request) => json(sessionView(context, await sessionOf(context, request))),
      changes: {
        POST: async (request) => {
          needOwnPage(request)
          const given = await exchange(context, guard, request)
          return json(sessionView(context, given), { 'set-cookie': cookieHeader(request, given) })
        },
        DELETE: async (request) => {
          needOwnPage(request)
          const session = await sessionOf(context, request)
          if (session) await signOut(context, session)
          return json(sessionView(context, undefined), { 'set-cookie': cookieHeader(request) })
        },
      },
    },
    {
      path: '/console/key',
      sameOrigin: true,
      changes: {
        POST: async (request) => {
          const session = await needSession(context, request)
          needOwnPage(request)
          const { token, expiresAtMs } = await keyOf(context, session)
          return json({ key: token, expiresAt: new Date(expiresAtMs).toISOString() } satisfies ConsoleKey)
        },
      },
    },
  ]
}

/** Bad links count with bad keys (decision 0006). A valid link is never refused for what others at the address did. */
async function exchange(context: AppContext, guard: Guard, request: Request): Promise<Token> {
  if ((request.body?.length ?? 0) > bodyBytesMax) throw new Fault('body.too_large')
  const given = await signIn(context, bodyOf(request, SignIn).token)
  if (given) return given
  const retryAfterMs = guard.bad(networkOf(request.address), context.clock.monotonicMs())
  if (retryAfterMs === 0) throw new Fault('console.link')
  throw new Fault('key.guarded', { retryAfterMs, says: 'Too many failed attempts from this address.' })
}

const sessionView = (
  { settings }: Pick<AppContext, 'settings'>,
  session: { readonly expiresAtMs: number } | undefined,
): ConsoleSession => ({
  signedIn: session !== undefined,
  ...(session && { expiresAt: new Date(session.expiresAtMs).toISOString() }),
  groups: settings.groups,
  chains: settings.groups.explorer.on ? settings.explorer.chains.map(({ id, name }) => ({ id, name })) : [],
})
