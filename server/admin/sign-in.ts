// Signing in and out of the console, and the API key for its pages.

import { Type } from '#api/contract/kit.ts'
import { Fault } from '#core/fault.ts'
import type { BadKeyThrottle } from '#http/bad-key-throttle.ts'
import { networkOf } from '#http/caller-network.ts'
import type { ApiRequest } from '#http/pipeline.ts'
import { jsonResponse } from '#http/render.ts'
import type { ExtraRoute } from '#http/routes.ts'
import { networkSettings, networksOf } from '#runtime/settings/validators.ts'
import type { AppContext } from '#server/context.ts'
import type { ConsoleKey, ConsoleSession } from '#shared/console-calls.ts'
import { executionChainOf } from '#validators/network-rpc.ts'
import { bodyOf, cookieHeader, operatorRoute, requireSameOrigin, sessionOf } from './operator-requests.ts'
import { sessionKey, signIn, signOut, type Token } from './sessions.ts'

/** The request needs no authorization, so the body is limited. */
const bodyBytesMax = 1024
const SignIn = Type.Object({ token: Type.String({ maxLength: 256 }) })

export function signInRoutes(
  { settings }: Pick<AppContext, 'settings'>,
  { badKeyThrottle, demoKey }: { readonly badKeyThrottle: BadKeyThrottle; readonly demoKey?: string | undefined },
): readonly ExtraRoute<AppContext>[] {
  const sessionView = createSessionView(settings, demoKey)
  return [
    {
      path: '/console/session',
      sameOrigin: true,
      read: async (request, context) => jsonResponse(sessionView(await sessionOf(context, request))),
      change: {
        POST: async (request, context) => {
          requireSameOrigin(request)
          const token = await exchange(context, badKeyThrottle, request)
          return jsonResponse(sessionView(token), 200, { 'set-cookie': cookieHeader(request, token) })
        },
        DELETE: async (request, context) => {
          requireSameOrigin(request)
          const session = await sessionOf(context, request)
          if (session) await signOut(context, session)
          return jsonResponse(sessionView(undefined), 200, { 'set-cookie': cookieHeader(request) })
        },
      },
    },
    operatorRoute('/console/key', {
      POST: async (_, context, session) => {
        const { token, expiresAtMs } = await sessionKey(context, session)
        return { key: token, expiresAt: new Date(expiresAtMs).toISOString() } satisfies ConsoleKey
      },
    }),
  ]
}

/** Invalid links count like invalid keys (behaviour/http.md#too-many-invalid-keys). A valid link is never throttled. */
async function exchange(context: AppContext, badKeyThrottle: BadKeyThrottle, request: ApiRequest): Promise<Token> {
  if ((request.body?.length ?? 0) > bodyBytesMax) throw new Fault('body.too_large')
  const token = await signIn(context, bodyOf(request, SignIn).token)
  if (token) return token
  const retryAfterMs = badKeyThrottle.countBadKey(networkOf(request.address), context.clock.monotonicMs())
  if (retryAfterMs === 0) throw new Fault('console.link')
  throw new Fault('key.throttled', { retryAfterMs, message: 'Too many failed attempts from this address.' })
}

const createSessionView =
  (settings: AppContext['settings'], demoKey: string | undefined) =>
  (session: { readonly expiresAtMs: number } | undefined): ConsoleSession => ({
    signedIn: session !== undefined,
    ...(session && { expiresAt: new Date(session.expiresAtMs).toISOString() }),
    ...(demoKey !== undefined && { demoKey }),
    groups: settings.groups,
    networks: settings.groups.validators.enabled
      ? networksOf(settings).map((name) => ({
          ...{ name, chain: executionChainOf(name, networkSettings(settings, name).execution) ?? null },
        }))
      : [],
    chains: settings.groups.explorer.enabled ? settings.explorer.chains.map(({ id, name }) => ({ id, name })) : [],
  })
