// Beyond the specification: a rate pushed by whoever holds an admin key (behaviour/fx.md#admin-keys).
import { extensions } from '#api/extensions.ts'
import { invalid } from '#core/fault.ts'
import { parseTimestamp } from '#core/parse-timestamp.ts'
import { createHandler } from '#http/handler.ts'
import { fxErrorFormat } from '../error-format.ts'
import { pushRate } from '../rates/push-rate.ts'

export const setRate = createHandler(
  extensions['fx.setRate'],
  fxErrorFormat,
  async ({ pair, rate, source, time }, context, { caller }) => {
    const atMs = time === undefined ? undefined : parseTimeWithZone(time)
    const stored = await pushRate(context, { pair, rate, source, atMs })
    context.log.info({ keyId: caller.keyId, source: stored.source, pair, rate: stored.rate }, 'a rate was pushed')
    const body = { source: stored.source, pair, rate: stored.rate, time: new Date(stored.atMs).toISOString() }
    return { is: 'body', body }
  },
)

/** Hours wrong are a price of other hours, so nobody's time zone is assumed. */
function parseTimeWithZone(text: string): number {
  const atMs = parseTimestamp(text, { zone: 'needed' })
  if (atMs === undefined) throw invalid(['body', 'time'], 'must name its zone, as in 2027-01-31T18:00:00Z', text)
  return atMs
}
