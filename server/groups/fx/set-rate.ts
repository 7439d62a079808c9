// Beyond the specification: a rate pushed by whoever holds an admin key (decision 0084).
import { extensions } from '#api/extensions.ts'
import { invalid } from '#core/fault.ts'
import { readMoment } from '#core/moment.ts'
import { answer } from '#serve/answer.ts'
import { pushRate } from './push.ts'
import { shape } from './shape.ts'

export const setRate = answer(
  extensions['fx.setRate'],
  shape,
  async ({ pair, rate, source, time }, context, { caller }) => {
    const atMs = time === undefined ? undefined : momentOf(time)
    const kept = await pushRate(context, { pair, rate, source, atMs })
    context.log.info({ keyId: caller.keyId, source: kept.source, pair, rate: kept.rate }, 'a rate was pushed')
    const body = { source: kept.source, pair, rate: kept.rate, time: new Date(kept.atMs).toISOString() }
    return { is: 'body', body }
  },
)

/** Hours wrong are a price of other hours, so nobody's time zone is assumed. */
function momentOf(text: string): number {
  const atMs = readMoment(text, { zone: 'needed' })
  if (atMs === undefined) throw invalid(['body', 'time'], 'must name its zone, as in 2027-01-31T18:00:00Z', text)
  return atMs
}
