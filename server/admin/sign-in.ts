// Signing in and out, and the key that the pages call with.
import type { ConsoleKey, ConsoleSession } from '#api/console.ts'
import { Type } from '#api/kit.ts'
import { Fault } from '#core/fault.ts'
import type { BadKeyThrottle } from '#http/bad-key-throttle.ts'
import { networkOf } from '#http/caller-network.ts'
import type { ApiRequest } from '#http/pipeline.ts'
import type { ExtraRoute } from '#http/routes.ts'
import type { AppContext } from '#server/context.ts'
import { bodyOf, cookieHeader, jsonResponse, needSession, requireSameOrigin, sessionOf } from './operator-requests.ts'
import { sessionKey, signIn, signOut, type Token } from './sessions.ts'

/** Anybody may send this body, so a long one is not even read. */
const bodyBytesMax = 1024
const SignIn = Type.Object({ token: Type.String({ maxLength: 256 }) })

export function signInRoutes(context: AppContext, badKeyThrottle: BadKeyThrottle): readonly ExtraRoute[] {
  return [
    {
      path: '/console/session',
      sameOrigin: true,
      read: async (request) => jsonResponse(sessionView(context, await sessionOf(context, request))),
      change: {
        POST: async (request) => {
          requireSameOrigin(request)
          const given = await exchange(context, badKeyThrottle, request)
          return jsonResponse(sessionView(context, given), { 'set-cookie': cookieHeader(request, given) })
        },
        DELETE: async (request) => {
          requireSameOrigin(request)
          const session = await sessionOf(context, request)
          if (session) await signOut(context, session)
          return jsonResponse(sessionView(context, undefined), { 'set-cookie': cookieHeader(request) })
        },
      },
    },
    {
      path: '/console/key',
      sameOrigin: true,
      change: {
        POST: async (request) => {
          const session = await needSession(context, request)
          requireSameOrigin(request)
          const { token, expiresAtMs } = await sessionKey(context, session)
          return jsonResponse({ key: token, expiresAt: new Date(expiresAtMs).toISOString() } satisfies ConsoleKey)
        },
      },
    },
  ]
}

/** Bad links count with bad keys (behaviour/http.md#too-many-invalid-keys). A valid link is never refused for what others at the address did. */
async function exchange(context: AppContext, badKeyThrottle: BadKeyThrottle, request: ApiRequest): Promise<Token> {
  if ((request.body?.length ?? 0) > bodyBytesMax) throw new Fault('body.too_large')
  const given = await signIn(context, bodyOf(request, SignIn).token)
  if (given) return given
  const retryAfterMs = badKeyThrottle.countBadKey(networkOf(request.address), context.clock.monotonicMs())
  if (retryAfterMs === 0) throw new Fault('console.link')
  throw new Fault('key.guarded', { retryAfterMs, message: 'Too many failed attempts from this address.' })
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
