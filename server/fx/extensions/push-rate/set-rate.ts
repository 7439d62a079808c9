// Extension: sets a rate by call. Needs an admin key (behaviour/fx.md#set-a-rate).
import { extensions } from '#api/contract/extensions.ts'
import { invalid } from '#core/fault.ts'
import { parseTimestamp } from '#core/parse-timestamp.ts'
import { createHandler } from '#http/handler.ts'
import { pushRate } from './push-rate.ts'

export const setRate = createHandler(
  extensions['fx.setRate'],
  async ({ pair, rate, source, time }, context, { caller }) => {
    const atMs = time === undefined ? undefined : parseTimeWithZone(time)
    const stored = await pushRate(context, { pair, rate, source, atMs })
    context.log.info({ keyId: caller.keyId, source: stored.source, pair, rate: stored.rate }, 'rate pushed')
    const body = { source: stored.source, pair, rate: stored.rate, time: new Date(stored.atMs).toISOString() }
    return { is: 'body', body }
  },
)

/** Requires a time zone: a wrong guess would store a price for another hour. */
function parseTimeWithZone(text: string): number {
  const atMs = parseTimestamp(text, { zone: 'needed' })
  if (atMs === undefined) throw invalid(['body', 'time'], 'must include a time zone, as in 2027-01-31T18:00:00Z', text)
  return atMs
}
