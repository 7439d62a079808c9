// Verifies market records against their feeds.
import { errorMessage } from '#core/error-message.ts'
import { verifyFeed } from '#markets/feeds/verify-feed.ts'
import { nothingToVerify, optionalNotes, randomBelow, type Verification } from './verification.ts'

/** A difference is only doubtful: the feed may have changed the record without changing its updatedAt. */
export const marketRecordVerification: Verification = {
  name: 'markets against their feeds',
  todo: 'read the whole feed again (tetrad ingest markets --full); if it happens again, the feed changes records without changing updatedAt: lower fullEveryMs',
  async run(context, count) {
    const { groups, markets } = context.settings
    if (!groups.markets.enabled || markets.feeds.length === 0) return nothingToVerify('no feed is configured')
    let [checked, changed] = [0, 0]
    const [doubtful, silent]: [string[], string[]] = [[], []]
    for (const feed of markets.feeds) {
      try {
        const read = await verifyFeed(context, feed, count, (until) => randomBelow(context, until))
        checked += read.same
        changed += read.changed
        doubtful.push(...read.differing)
      } catch (error) {
        silent.push(`${feed.id}: ${errorMessage(error)}`)
      }
    }
    return {
      checked,
      differing: [],
      doubtful,
      ...optionalNotes(changed > 0 ? [`${changed} have changed since`] : [], silent),
    }
  },
}
