// Promise: a cold probe costs about log2(head) looks at the chain's state. Prints rounds and calls by fan-out against that
// yardstick, and the time they take behind a near and a far node; explorer.probe.fanOut was chosen from this table. Most of these
// have never spent anything, so that their code is looked for (decision 0161). Then the same for those who have, and for contracts
// that were funded after their creation and keep what they get (decision 0065).

import { openNode } from '#groups/explorer/node.ts'
import { walk } from '#groups/explorer/probe-walk.ts'
import { systemClock } from '#io/clock.ts'
import type { Post } from '#io/evm/line.ts'
import { chance } from '#sim/chance.ts'
import { SimChain } from '#sim/evm/chain.ts'
import { inertCode } from '#sim/evm/execute.ts'
import { SimNode } from '#sim/evm/node.ts'

const blocks = 20_000
const samples = 24
/** How long a node takes for one look into old state; the rest of a round is the way there and back. */
const callMs = 0.5
const ways = [
  { name: 'same rack', roundMs: 1 },
  { name: 'same region', roundMs: 15 },
  { name: 'far away', roundMs: 90 },
]

const startMs = performance.now()
const chain = new SimChain({ seed: 'bench', finalLag: 64, busy: 1, people: 200, inertPercent: 50 })
chain.mine(blocks)
const sim = new SimNode(chain)
const draws = chance('bench probe')
const first = chain.firstFundings()
const plain = [...first].flatMap(([one, { block }]) =>
  !chain.destroyed.has(one) && chain.accountAt(one, block - 1).nonce === 0n ? [one] : [],
)
const keepers = [...first].flatMap(([one, { block }]) =>
  chain.accountAt(one, block - 1).code === inertCode ? [one] : [],
)
const spenders = plain.filter((one) => {
  const { nonce, code } = chain.accountAt(one, chain.head.number)
  return nonce > 0n && code === '0x' && chain.accountAt(one, (first.get(one)?.block ?? 0) - 1).balance === 0n
})
const some = (of: readonly string[]) => Array.from({ length: samples }, () => draws.pick(of))
const [people, senders, contracts] = [some(plain), some(spenders), some(keepers)]
const yardstick = Math.log2(blocks)
console.log(
  `${blocks} blocks, ${plain.length} funded addresses, made in ${Math.round(performance.now() - startMs)} ms; log2(head) = ${yardstick.toFixed(1)}`,
)

async function measure(chosen: readonly string[], fanOut: number, roundMs: number) {
  const post: Post = async (_, { body }) => {
    const calls = [JSON.parse(body ?? '')].flat().length
    const [{ text }] = await Promise.all([sim.answer(body ?? ''), systemClock.sleep(roundMs + calls * callMs)])
    return text
  }
  const sums = await Promise.all(
    chosen.map(async (address) => {
      const settings = { id: '1', name: 'Sim', firstBlock: 0, mode: 'probe', archive: true, finalityBlocks: 0 } as const
      const rpc = [{ url: 'http://sim/', perSecond: 0, batchMax: 200, timeoutMs: 10_000 }]
      const node = openNode({ ...settings, rpc }, { clock: systemClock }, { post })
      await node.capabilities()
      const before = node.rpc.counts()
      const fromMs = performance.now()
      const limits = {
        fanOut,
        callsMax: 10_000,
        blocksMax: 0,
        sureBlocks: 0,
        looks: 32,
        untilMs: Number.POSITIVE_INFINITY,
      }
      const { funding } = await walk(node, address, limits)
      if (funding?.tx !== first.get(address)?.tx) throw new Error(`wrong answer for ${address}`)
      const after = node.rpc.counts()
      return { calls: after.calls - before.calls, rounds: after.rounds - before.rounds, ms: performance.now() - fromMs }
    }),
  )
  const mean = (of: 'calls' | 'rounds' | 'ms') => sums.reduce((sum, one) => sum + one[of], 0) / sums.length
  return { calls: mean('calls'), rounds: mean('rounds'), ms: mean('ms') }
}

for (const fanOut of [1, 3, 7, 15, 31]) {
  const results = []
  for (const { name, roundMs } of ways) results.push({ name, ...(await measure(people, fanOut, roundMs)) })
  const [one] = results
  if (!one) continue
  const times = results.map(({ name, ms }) => `${name} ${Math.round(ms)} ms`).join(', ')
  console.log(
    `fan-out ${String(fanOut).padStart(2)}: ${one.rounds.toFixed(1).padStart(4)} rounds, ${one.calls.toFixed(1).padStart(5)} calls = ${(one.calls / yardstick).toFixed(1)} × log2(head); ${times}`,
  )
}
for (const [name, chosen] of [
  ['accounts that have sent a transaction', senders],
  ['contracts that keep what they get', contracts],
] as const) {
  const { calls, rounds } = await measure(chosen, 7, 1)
  console.log(`${name}, fan-out 7: ${rounds.toFixed(1)} rounds, ${calls.toFixed(1)} calls`)
}
