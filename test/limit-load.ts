// A process that makes as many calls as possible with one key for a few seconds and reports when they were accepted, by
// the clock of Redis. `node limit-load.ts <redis url> <limits>`; starts on a message of its parent.
import { once } from 'node:events'
import { contract } from '#api/contract.ts'
import { SharedLimits } from '#http/shared-limits.ts'
import { UsageCounter } from '#http/usage-counter.ts'
import { openContext } from './context.ts'

const [, , url = '', limits = '{}'] = process.argv
const lastMs = 4500
const caller = { keyId: 'k', ...(JSON.parse(limits) as { perSecond: number; perDay: number }) }

await using context = await openContext()
// The clock of the context does not advance, so replies are never too late on a busy machine.
const usage = await UsageCounter.open(context)
const acceptedMs: { limited: number[]; other: number[] } = { limited: [], other: [] }
let which: keyof typeof acceptedMs = 'limited'
// Records the replies of Redis.
const count = usage.count.bind(usage)
usage.count = (...call) => {
  acceptedMs[which].push(call[3])
  count(...call)
}
const shared = await SharedLimits.open(context, usage, { url })
process.send?.('ready')
await once(process, 'message')
const endMs = performance.now() + lastMs
for (let round = 0; performance.now() < endMs; round++) {
  which = round % 2 === 0 ? 'limited' : 'other'
  await shared.consume(caller, contract[which === 'limited' ? 'explorer.fundedBy' : 'fx.createQuote'])
}
await shared.close()
await usage.close()
process.send?.(acceptedMs)
process.disconnect?.()
