// Extension: the calls of the caller's key today (behaviour/explorer.md#usage-of-a-key).
import { extensions } from '#api/contract/extensions.ts'
import { createHandler } from '#http/handler.ts'
import { countAccepted, dayMs, dayOf } from '#storage/usage.ts'
import { wrapResult } from '../../envelope.ts'

export const apiLimit = createHandler(
  extensions['explorer.apiLimit'],
  async (_, { state, settings, clock }, { caller }) => {
    const nowMs = clock.now()
    const { perDay } = settings.plans[caller.plan]
    const used = await countAccepted(state, dayOf(nowMs), caller.keyId)
    const result = {
      creditsUsed: used,
      creditsAvailable: perDay === 0 ? null : Math.max(0, perDay - used),
      creditLimit: perDay === 0 ? null : perDay,
      limitInterval: 'daily' as const,
      intervalExpiryTimespan: formatTimeLeft(dayMs - (nowMs % dayMs)),
    }
    return wrapResult(result)
  },
)

/** Rounded down, so that midnight is 23:59:59 and not 24:00:00. */
function formatTimeLeft(leftMs: number): string {
  const seconds = Math.ceil(leftMs / 1000) - 1
  return [seconds / 3600, (seconds / 60) % 60, seconds % 60]
    .map((part) => String(Math.floor(part)).padStart(2, '0'))
    .join(':')
}
