// Random histories: the probe, the index and brute force must tell the same story, whatever the node does meanwhile.
// A failing seed is printed; put it into `kept`.
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { Fault } from '#core/fault.ts'
import { systemClock } from '#io/clock.ts'
import type { Post } from '#io/evm/line.ts'
import { FetchError } from '#io/fetch.ts'
import { chance } from '#sim/chance.ts'
import { SimChain, type TrueTransfer } from '#sim/evm/chain.ts'
import { inertCode, spendingCode } from '#sim/evm/execute.ts'
import { type SimFault, SimNode } from '#sim/evm/node.ts'
import { openDesk, settingsWith, type TestDesk } from '#test/desk.ts'
import { type Funding, findFunding } from './fundings.ts'
import { catchUp, type IndexDesk } from './index-chain.ts'
import { findNear } from './index-near.ts'
import { type ChainNode, openNode } from './node.ts'
import type { Mark } from './probe-marks.ts'
import { type Walked, walk } from './probe-walk.ts'

// More of them, or others, by hand: HISTORY_FROM=1000 HISTORY_SEEDS=5000.
const seeds = Number(process.env.HISTORY_SEEDS ?? 200)
const fromSeed = Number(process.env.HISTORY_FROM ?? 0)
/** Seeds that once failed. */
const kept: readonly number[] = []

const faultKinds: readonly SimFault[] = [
  'status 500',
  'status 429',
  'garbage',
  'half',
  'null',
  'error',
  'rate error',
  'missing traces',
  'wrong ids',
]
const forms = ['trace_block', 'debug_traceBlockByNumber', 'debug_traceTransaction'] as const

let desk: TestDesk
before(async () => {
  desk = await openDesk()
})
after(() => desk[Symbol.asyncDispose]())

const directly =
  (node: SimNode): Post =>
  async (_, { body }) => {
    const { status, text } = await node.answer(body ?? '')
    if (status !== 200) throw new FetchError('status', `status ${status}`, { status })
    return text
  }

interface Stage {
  readonly chain: SimChain
  readonly sim: SimNode
  readonly node: ChainNode
  readonly index: IndexDesk
  /** Blocks read in a row by one search; few of them, and it takes several to finish. */
  readonly blocksMax: number
  /** The node lists traces by address, over any span. */
  readonly lists: boolean
  /** How far searches have come that did not finish. */
  readonly marks: Map<string, Mark>
}

function stage(seed: number, number: number): Stage {
  const draws = chance(`history ${seed}`)
  const chain = new SimChain({
    seed: `history ${seed}`,
    id: String(number),
    finalLag: draws.whole(2, 9),
    inertPercent: 45,
    ghosts: false,
  })
  chain.mine(draws.whole(12, 40))
  const traces = [forms[seed % 3] as (typeof forms)[number]]
  // Half of the nodes have an index of traces of their own; some of those refuse long spans.
  const filterBlocks = seed % 2 === 0 ? 0 : draws.pick([5, 1000])
  const sim = new SimNode(chain, { traces, filterBlocks })
  const settings = settingsWith({
    explorer: {
      chains: [{ id: String(number), name: 'Sim', rpc: [{ url: 'http://sim/', batchMax: draws.whole(1, 30) }] }],
      index: { rangeBlocks: draws.whole(1, 12), parallel: draws.whole(1, 4) },
    },
  })
  const [settled] = settings.explorer.chains
  assert.ok(settled)
  const node = openNode(settled, { clock: systemClock }, { post: directly(sim), restMs: 0 })
  const blocksMax = seed % 4 === 0 ? draws.whole(1, 12) : 1000
  const index = { state: desk.state, clock: systemClock, settings }
  return { chain, sim, node, index, blocksMax, lists: filterBlocks === 1000, marks: new Map() }
}

const searchesMax = 400

/** Asks again, as a caller would, until a search that was cut short is done. */
async function search({ node, blocksMax, marks }: Stage, address: string): Promise<Walked> {
  for (let searches = 1; ; searches++) {
    const since = marks.get(address)
    const keep = (mark: Mark) => void marks.set(address, mark)
    try {
      const untilMs = Number.POSITIVE_INFINITY
      return await walk(node, address, {
        fanOut: 3,
        callsMax: 100_000,
        blocksMax,
        sureBlocks: 1000,
        looks: 32,
        untilMs,
        since,
        keep,
      })
    } catch (error) {
      const wentOn = marks.get(address) !== since
      if (!(error instanceof Fault) || error.code !== 'explorer.probe_bounds' || !wentOn || searches === searchesMax)
        throw error
      meet('went on later')
    }
  }
}

const story = (one: Funding | TrueTransfer | undefined) =>
  one && {
    place: [one.block, one.txIndex, one.position],
    timeUnix: one.timeUnix,
    tx: one.tx,
    from: 'from' in one ? one.from : one.funder,
    valueWei: one.valueWei,
  }

async function holdIndex({ chain }: Stage, words: string): Promise<void> {
  for (const address of chain.addresses()) {
    const final = await findFunding(desk.state, chain.id, address)
    assert.deepEqual(story(final), story(chain.firstFunding(address, chain.final)), `${words}: final row of ${address}`)
    const present = final ?? (await findNear(desk.state, chain.id, address))
    assert.deepEqual(story(present), story(chain.firstFunding(address)), `${words}: present row of ${address}`)
  }
}

/** What the probed addresses were like, so that a history that grew tame is noticed. */
const met = new Map<string, number>()
const meet = (what: string) => met.set(what, (met.get(what) ?? 0) + 1)

function tally({ chain }: Stage, address: string, funding: Funding | undefined): void {
  if (!funding) {
    meet('never funded')
    return
  }
  const before = chain.accountAt(address, funding.block - 1)
  meet(funding.position === 0 ? 'plain transfer' : 'internal transfer')
  if (before.nonce > 0n && before.balance === 0n) meet('nonce before funding')
  if (before.code.startsWith('0xef0100')) meet('delegated before funding')
  if (before.code === spendingCode)
    meet(before.nonce === 0n ? 'old contract before funding' : 'contract before funding')
  if (before.code === inertCode)
    meet(before.nonce === 0n ? 'old inert contract before funding' : 'inert contract before funding')
  if (before.balance > 0n) meet('withdrawal, reward or genesis before funding')
  if (chain.accountAt(address, chain.head.number).balance === 0n) meet('emptied later')
  const came = chain.blocks[funding.block]?.transfers.filter(({ to }) => to === address) ?? []
  if (came.length > 1) meet('several in the first block')
}

/** Right, or a fault that says why not; never wrong. Under faults of the node a fault is all that may differ. */
async function holdProbe(at: Stage, address: string, calm: boolean, words: string): Promise<void> {
  const { chain } = at
  try {
    const { funding, asOf, proof } = await search(at, address)
    if (proof === 'listed') meet('told by lists')
    if (proof === 'looked') {
      // Decision 0165: its first sign of life lies beyond what is final, and the blocks up to there are more than one search may read.
      const { nonce, balance } = chain.accountAt(address, chain.final)
      // In a storm blocks become final after the search has begun.
      const isLate = !calm || (nonce === 0n && balance === 0n)
      assert.ok(at.blocksMax < 13 && isLate, `${words}: only looked for ${address}`)
      meet('only looked')
      return
    }
    assert.deepEqual(story(funding), story(chain.firstFunding(address, asOf)), `${words}: probe of ${address}`)
    tally(at, address, funding)
  } catch (error) {
    if (!(error instanceof Fault) || calm) throw error
    meet('fault')
  }
}

/** Begun where an index ended, or at the first block, and nothing read to be sure: right, or refused (decisions 0171 and 0172). */
async function holdRefusal({ chain, node }: Stage, address: string, readUntil: number): Promise<void> {
  const first = chain.firstFunding(address)
  const limits = { fanOut: 3, callsMax: 100_000, blocksMax: 1000, sureBlocks: 0, looks: 32 }
  const untilMs = Number.POSITIVE_INFINITY
  const readUpTo = Math.min(readUntil, first?.block ?? readUntil) - 1
  try {
    const { funding, proof } = await walk(node, address, { ...limits, untilMs, readUpTo, unsure: 'refuse' })
    assert.deepEqual(story(funding), story(first), `${address} after block ${readUpTo}`)
    assert.notEqual(proof, 'looked')
    if (readUntil > 0) meet('went on from an index')
  } catch (error) {
    assert.ok(error instanceof Fault && error.code === 'explorer.probe_bounds', String(error))
    meet('refused')
  }
}

async function live(seed: number, number: number): Promise<void> {
  const draws = chance(`live ${seed}`)
  const at = stage(seed, number)
  const { chain, sim, node, index } = at
  // Of a contract that is gone the state tells nothing, so holes in a list of its steps cannot be noticed (decision 0160).
  const steady = () => chain.addresses().filter((address) => !(at.lists && chain.destroyed.has(address)))
  // Every other one has code, now or ever since: these are few, and the hard ones.
  const someone = (nth: number) => {
    const coded = steady().filter((address) => chain.accountAt(address, chain.head.number).code !== '0x')
    return draws.pick(nth % 2 === 0 || coded.length === 0 ? steady() : coded)
  }
  await node.capabilities()
  // A stormy life: faults, new blocks and reorganisations in the middle of everything.
  for (let turn = 0; turn < 3; turn++) {
    // In the second storm the node is well otherwise, but leaves traces out of what it lists.
    const kinds: readonly SimFault[] = turn === 1 ? ['missing traces'] : faultKinds
    sim.faults = { chance: draws.fork(`faults ${turn}`), rate: 0.15, kinds }
    sim.meanwhile = () => {
      const event = draws.whole(0, 14)
      if (event === 0) chain.mine()
      if (event === 1) chain.reorg(draws.whole(1, 4), draws.whole(0, 5))
    }
    await catchUp(index, node, (progress) => {
      if (progress.is === 'near' && progress.takenBack > 0) meet('blocks taken back')
    }).catch((error: unknown) => assert.ok(error instanceof Fault, String(error)))
    for (let probes = 0; probes < 2; probes++) {
      await holdProbe(at, someone(probes), false, 'in the storm')
    }
  }
  // Then calm: everything must be told, and told right.
  sim.faults = undefined
  sim.meanwhile = undefined
  chain.mine(draws.whole(0, 3))
  await catchUp(index, node, () => {})
  await holdIndex(at, 'calm')
  for (let probes = 0; probes < 12; probes++) await holdProbe(at, someone(probes), true, 'calm')
  const gone = [...chain.destroyed].slice(0, 4)
  for (const address of gone) {
    await holdProbe(at, address, true, 'deleted')
    meet('deleted')
  }
  for (const [nth, address] of [...gone, someone(0), someone(1)].entries())
    await holdRefusal(at, address, nth % 2 === 0 ? 0 : draws.whole(1, chain.final + 1))
  chain.reorg(draws.whole(1, 9), draws.whole(0, 9))
  await catchUp(index, node, () => {})
  await holdIndex(at, 'after a reorganisation')
}

test(`probe = index = brute force over ${seeds} histories, under faults and reorganisations`, async (context) => {
  const all = [...kept, ...Array.from({ length: seeds }, (_, seed) => fromSeed + seed)]
  for (const [at, seed] of all.entries()) {
    try {
      await live(seed, at + 1)
    } catch (error) {
      throw new Error(`seed ${seed}: ${(error as Error).message}`, { cause: error })
    }
  }
  const cases = [
    'never funded',
    'plain transfer',
    'internal transfer',
    'nonce before funding',
    'delegated before funding',
    'contract before funding',
    'old contract before funding',
    'inert contract before funding',
    'old inert contract before funding',
    'went on later',
    'withdrawal, reward or genesis before funding',
    'emptied later',
    'several in the first block',
    'fault',
    'blocks taken back',
    'told by lists',
    'deleted',
    'refused',
    'went on from an index',
  ]
  const rare = cases.filter((what) => (met.get(what) ?? 0) < 5)
  assert.deepEqual(rare, [], `met too seldom; in all: ${JSON.stringify([...met])}`)
  context.diagnostic(`met: ${[...met].map(([what, times]) => `${what} ${times}`).join(', ')}`)
})
