// Goal: the search for the first funding of an ordinary account on a chain of 20 million blocks takes at most 60 calls
// with default settings, because providers charge per call. Prints calls and round trips by fan-out for typical
// histories, and the time with a near and a far node. explorer.probe.fanOut was chosen from this table.

import { AccountReader } from '#explorer/funding/probe/account-reader.ts'
import { searchFunding } from '#explorer/funding/probe/funding-search.ts'
import { openNode } from '#explorer/nodes.ts'
import { systemClock } from '#runtime/clock.ts'
import type { Post } from '#sources/evm/rpc-endpoint.ts'
import { type AccountEvent, createAccountHistoryNode, me } from '#test/account-history-node.ts'
import { settingsWith } from '#test/context.ts'

const head = 20_000_000
const callsMax = 60
const samples = 20
/** Time of a node for one call to old state, besides the network. */
const callMs = 0.5
const distances = [
  { name: 'same rack', roundMs: 1 },
  { name: 'same region', roundMs: 15 },
  { name: 'far away', roundMs: 90 },
]

const histories: readonly { name: string; historyAt: (block: number) => readonly AccountEvent[] }[] = [
  { name: 'never used', historyAt: () => [] },
  { name: 'funded, never spent', historyAt: (block) => [{ block, balance: 5, paid: 5 }] },
  {
    name: 'funded, spent 1000 blocks later',
    historyAt: (block) => [
      { block, balance: 5, paid: 5 },
      { block: block + 1000, nonce: 1, balance: 2, sends: true },
    ],
  },
  {
    name: 'funded and spent in one block',
    historyAt: (block) => [{ block, nonce: 1, balance: 2, paid: 5, sends: true }],
  },
]

async function measure(events: readonly AccountEvent[], fanOut: number, roundMs: number) {
  const { post: respond } = createAccountHistoryNode(events, { head, final: head - 64 })
  const post: Post = async (url, options) => {
    const calls = [JSON.parse(options.body ?? '')].flat().length
    const [text] = await Promise.all([
      respond(url, options as { body?: string }),
      roundMs > 0 ? systemClock.sleep(roundMs + calls * callMs) : undefined,
    ])
    return text
  }
  const { explorer } = settingsWith({
    explorer: { chains: [{ id: '1', name: 'Bench', rpc: [{ url: 'http://simulator/' }] }] },
  })
  const [chain] = explorer.chains
  if (!chain) throw new Error('no chain')
  const node = openNode(chain, { clock: systemClock }, { post })
  await node.capabilities()
  const before = node.rpc.counts()
  const fromMs = performance.now()
  const { funding } = await searchFunding(new AccountReader(node, me, { fanOut, untilMs: Number.POSITIVE_INFINITY }))
  if (funding?.block !== events[0]?.block) throw new Error(`found ${funding?.block}, not ${events[0]?.block}`)
  const { calls, rounds } = node.rpc.counts()
  return { calls: calls - before.calls, rounds: rounds - before.rounds, ms: performance.now() - fromMs }
}

const blocks = Array.from({ length: samples }, (_, at) => Math.floor(((at + 0.37) * (head - 5000)) / samples))
const defaultFanOut = settingsWith({}).explorer.probe.fanOut
let worst = 0
for (const { name, historyAt } of histories) {
  console.log(`${name}, ${head} blocks`)
  for (const fanOut of [1, 3, 7]) {
    const all: { calls: number; rounds: number }[] = []
    for (const block of blocks) all.push(await measure(historyAt(block), fanOut, 0))
    const times = []
    for (const distance of distances) {
      const { ms } = await measure(historyAt(blocks[7] as number), fanOut, distance.roundMs)
      times.push(`${distance.name} ${Math.round(ms)} ms`)
    }
    const most = Math.max(...all.map(({ calls }) => calls))
    const mean = (of: 'calls' | 'rounds') => (all.reduce((sum, counts) => sum + counts[of], 0) / all.length).toFixed(1)
    console.log(
      `  fan-out ${fanOut}: ${mean('calls')} calls (at most ${most}), ${mean('rounds')} rounds; ${times.join(', ')}`,
    )
    if (fanOut === defaultFanOut) worst = Math.max(worst, most)
  }
}
console.log(`default fan-out ${defaultFanOut}: at most ${worst} calls (goal ${callsMax})`)
