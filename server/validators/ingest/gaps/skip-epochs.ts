// When: always. Ingest continues with the first epoch that can be read, or waits for one.
// Proves: nothing. The epochs before it are a gap, which is reported and tried again every hour (fill-gaps.ts).
// Costs: the figures of these epochs, until the gap is filled.
import { type ContinueWay, skippedBefore } from './continue-way.ts'

export const skipEpochs: ContinueWay = async (context, event) => {
  const { source } = context
  const { from, until } = event.epochs
  const before = skippedBefore(context, event)
  const next = (await event.findReadable()) ?? until
  // The epochs to read end before the finalized epoch.
  const skipped = { from, finalizedEpoch: until + 1, ...before, until: next }
  context.skipped = event.problem === undefined ? skipped : { ...skipped, problem: event.problem }
  if (!before) {
    const message =
      'no beacon node has the states of this epoch; ingest continues with the first epoch that it can read'
    source.context.log.warn({ network: source.network, epoch: from, reason: event.reason }, message)
  }
  return next
}
