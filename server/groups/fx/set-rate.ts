// Beyond the specification: a rate pushed by whoever holds an admin key (decision 0084).
import { extensions } from '#api/extensions.ts'
import { answer } from '#serve/answer.ts'
import { pushRate } from './push.ts'
import { shape } from './shape.ts'

export const setRate = answer(
  extensions['fx.setRate'],
  shape,
  async ({ pair, rate, source, time }, desk, { caller }) => {
    const kept = await pushRate(desk, { pair, rate, source, atMs: time === undefined ? undefined : Date.parse(time) })
    desk.log.info({ keyId: caller.keyId, source: kept.source, pair, rate: kept.rate }, 'a rate was pushed')
    const body = { source: kept.source, pair, rate: kept.rate, time: new Date(kept.atMs).toISOString() }
    return { is: 'body', body }
  },
)
