// A process that makes as many calls as possible with one key until the limit of the day is reached, and some more. It
// reports when they were accepted, by the clock of Redis. `node limit-load.ts <redis url> <limits>`; starts on a message
// of its parent.
import { once } from 'node:events'
import { contract } from '#api/contract/contract.ts'
import { openSharedLimits } from '#http/shared-limits.ts'
import { openUsageCounter } from '#http/usage-counter.ts'
import { openContext } from './context.ts'

const [, , url = '', limits = '{}'] = process.argv
/** After the first one that the limit of the day refuses. */
const callsAfterLimit = 200
/** Reached only if there is no limit of the day. */
const roundsMax = 1_000_000
const caller = { keyId: 'k', ...(JSON.parse(limits) as { perSecond: number; perDay: number }) }

await using context = await openContext()
// The clock of the context does not advance, so replies are never too late on a busy machine.
const usage = await openUsageCounter(context)
const acceptedMs: { limited: number[]; other: number[] } = { limited: [], other: [] }
let which: keyof typeof acceptedMs = 'limited'
// Records the replies of Redis.
const count = usage.count.bind(usage)
usage.count = (...call) => {
  acceptedMs[which].push(call[3])
  count(...call)
}
const shared = await openSharedLimits(context, usage, { url })
process.send?.('ready')
await once(process, 'message')
let left = callsAfterLimit
let isLimitReached = false
for (let round = 0; left > 0 && round < roundsMax; round++) {
  which = round % 2 === 0 ? 'limited' : 'other'
  const fault = await shared.consume(caller, contract[which === 'limited' ? 'explorer.fundedBy' : 'fx.createQuote'])
  isLimitReached ||= fault?.code === 'limit.day'
  if (isLimitReached) left -= 1
}
await shared.close()
await usage.close()
process.send?.(acceptedMs)
process.disconnect?.()
