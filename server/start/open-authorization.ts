// Opens what decides whether a request is allowed: keys, limits, and the throttle of callers that try many keys.
import { type Authorizer, openAuthorizer } from '#http/authorize.ts'
import { type BadKeyThrottle, createBadKeyThrottle } from '#http/bad-key-throttle.ts'
import type { Metrics } from '#runtime/metrics.ts'
import type { AppContext } from '../context.ts'

export interface Authorization extends AsyncDisposable {
  readonly authorizer: Authorizer
  readonly badKeyThrottle: BadKeyThrottle
  /** Whether Redis is reachable, if several servers share their limits there. */
  hasSharedLimits(): boolean
}

export async function openAuthorization(context: AppContext, metrics: Metrics): Promise<Authorization> {
  let isShared = true
  const badKeyThrottle = createBadKeyThrottle(context.settings)
  const authorizer = await openAuthorizer(
    context,
    (code) => metrics.limited(code),
    badKeyThrottle,
    (is) => {
      isShared = is
      metrics.setLimitsShared(is)
    },
  )
  return {
    authorizer,
    badKeyThrottle,
    hasSharedLimits: () => isShared,
    [Symbol.asyncDispose]: () => authorizer.close(),
  }
}
