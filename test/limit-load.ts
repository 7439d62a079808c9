// A process that calls as often as it can with one key for a few seconds, and tells when its calls were admitted, by the
// clock of Redis. `node hammer.ts <redis url> <limits>`; begins when it is told.
import { once } from 'node:events'
import { contract } from '#api/contract.ts'
import { SharedLimits } from '#http/shared-limits.ts'
import { UsageCounter } from '#http/usage-counter.ts'
import { openContext } from './context.ts'

const [, , url = '', limits = '{}'] = process.argv
const lastMs = 4500
const caller = { keyId: 'k', ...(JSON.parse(limits) as { perSecond: number; perDay: number }) }

await using context = await openContext()
// The context's clock stands still, so no answer is too late on a loaded machine.
const usage = await UsageCounter.open(context)
const admittedMs: { here: number[]; elsewhere: number[] } = { here: [], elsewhere: [] }
let which: keyof typeof admittedMs = 'here'
// What Redis said passes through here.
const count = usage.count.bind(usage)
usage.count = (...call) => {
  admittedMs[which].push(call[3])
  count(...call)
}
const shared = await SharedLimits.open(context, usage, { url })
process.send?.('ready')
await once(process, 'message')
const endMs = performance.now() + lastMs
for (let turn = 0; performance.now() < endMs; turn++) {
  which = turn % 2 === 0 ? 'here' : 'elsewhere'
  await shared.consume(caller, contract[which === 'here' ? 'explorer.fundedBy' : 'fx.createQuote'])
}
await shared.close()
await usage.close()
process.send?.(admittedMs)
process.disconnect?.()
