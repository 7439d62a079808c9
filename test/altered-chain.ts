// Small chains whose node alters one answer, while the chain is indexed or addresses are searched. What is claimed as
// final meanwhile must be true, and after the node has recovered, the results must equal the truth of the chain.
import assert from 'node:assert/strict'
import { Fault } from '#core/fault.ts'
import type { ExplorerContext } from '#explorer/context.ts'
import { findFirstFunding } from '#explorer/funding/find-first-funding.ts'
import { type Funding, findFunding } from '#explorer/funding/fundings.ts'
import { catchUpIndex } from '#explorer/funding/index/index-chain.ts'
import { findUnfinalizedFunding } from '#explorer/funding/index/unfinalized.ts'
import { openNode } from '#explorer/nodes.ts'
import { SimulatedChain, type TrueTransfer } from '#simulator/evm/chain.ts'
import { createSeededRandom } from '#simulator/seeded-random.ts'
import type { Post } from '#sources/evm/rpc-endpoint.ts'
import { FetchError } from '#sources/http-client.ts'
import type { AlterationReport, AnswerAlterer } from './altered-answer.ts'
import type { AlteredRun } from './altered-seeds.ts'
import { settingsWith, type TestContext, testNowMs } from './context.ts'
import { JumpingClock } from './jumping-clock.ts'
import { dialectsWith } from './simulator/dialects.ts'
import { firstFunding } from './simulator/first-funding.ts'
import { LimitedNode } from './simulator/limited-node.ts'

const worldsCount = 60
const hourMs = 3_600_000

const forms = ['trace_block', 'debug_traceBlockByNumber', 'debug_traceTransaction'] as const

let chains = 0

/** A small chain, its node and a context with a clock of its own. The same number gives the same world. */
export function openChainWorld(
  database: TestContext,
  number: number,
  mode: 'index' | 'probe',
  alterer: Pick<AnswerAlterer, 'next'>,
) {
  const draws = createSeededRandom(`altered world ${number}`)
  const id = String(++chains)
  const chain = new SimulatedChain({
    seed: `altered world ${number}`,
    id,
    finalLag: draws.whole(2, 6),
    accounts: 10,
    destroyedMaySend: false,
  })
  chain.mine(draws.whole(10, 22))
  const form = forms[number % 3] as (typeof forms)[number]
  const simulated = new LimitedNode(chain, {
    traces: [form],
    dialect: draws.pick(dialectsWith(form)),
    batchMax: draws.pick([2, 8, 100]),
    receipts: number % 2 === 0,
    filterBlocks: mode === 'probe' ? draws.pick([0, 5, 1000]) : 0,
  })
  const settings = settingsWith({
    explorer: {
      chains: [{ id, name: 'Simulated', mode, rpc: [{ url: 'http://simulator/', batchMax: draws.whole(1, 30) }] }],
      index: { rangeBlocks: draws.whole(1, 12), parallel: draws.whole(1, 4) },
      probe: { timeoutMs: 60_000 },
    },
  })
  const clock = new JumpingClock(testNowMs)
  const post: Post = async (_, { body = '', timeoutMs }) => {
    const real = await simulated.respond(body)
    const { status, body: text, delayMs = 0 } = alterer.next(body, { ...real, type: 'json', body: real.text })
    if (delayMs > 10) {
      await clock.sleep(timeoutMs)
      throw new FetchError('timeout', `no answer within ${timeoutMs} ms`)
    }
    if (status !== 200) throw new FetchError('status', `status ${status}`, { status })
    return text
  }
  const [chainSettings] = settings.explorer.chains
  assert.ok(chainSettings)
  const node = openNode(chainSettings, { clock }, { post })
  const nodes = new Map([[id, node]])
  const context: ExplorerContext = { ...database, clock, settings, explorer: { ...database.explorer, nodes } }
  return { chain, simulated, node, context, clock, draws, post }
}

type World = ReturnType<typeof openChainWorld>

const comparable = (one: Funding | TrueTransfer | undefined) =>
  one && {
    position: [one.block, one.txIndex, one.position],
    timeUnix: one.timeUnix,
    tx: one.tx,
    from: 'from' in one ? one.from : one.funder,
    valueWei: one.valueWei,
  }

/** The result of a request, or the code of its fault. What it claims must be true. */
async function ask(world: World, address: string): Promise<unknown> {
  const { chain, context } = world
  try {
    const { funding, confidence } = await findFirstFunding(context, chain.id, address)
    if (confidence.finality !== 'finalized') return comparable(funding)
    const asOf = Number(confidence.asOf)
    assert.ok(asOf <= chain.final, `block ${asOf} is claimed as final, block ${chain.final} is`)
    const truth = firstFunding(chain, address, funding ? chain.final : asOf)
    assert.deepEqual(comparable(funding), comparable(truth), `claimed as final for ${address}`)
    return comparable(funding)
  } catch (error) {
    if (error instanceof Fault) return error.code
    throw error
  }
}

/** Indexes a chain in several passes, with new blocks and a reorganisation in between. */
export const indexAlteredChain =
  (database: TestContext): AlteredRun =>
  async (seed, alterer) => {
    const world = openChainWorld(database, seed % worldsCount, 'index', alterer)
    const { chain, node, context, clock, draws } = world
    let refusals = 0
    const pass = () => catchUpIndex(context, node, () => {})
    const changes = [() => {}, () => chain.mine(draws.whole(1, 5)), () => chain.reorg(2, 3), () => chain.mine(2)]
    for (const change of changes) {
      change()
      await pass().catch((error: unknown) => {
        assert.ok(error instanceof Fault, `not a fault: ${(error as Error).stack}`)
        refusals += 1
      })
      for (const address of chain.addresses()) await ask(world, address)
    }
    alterer.stop()
    // Capabilities and unreadable blocks are tried again after an hour.
    for (const blocks of [1, 1]) {
      clock.advance(hourMs)
      await node.each()
      chain.mine(blocks)
      await pass()
    }
    for (const address of chain.addresses()) {
      const final = await findFunding(context.ingest, chain.id, address)
      assert.deepEqual(comparable(final), comparable(firstFunding(chain, address, chain.final)), `row of ${address}`)
      const present = final ?? (await findUnfinalizedFunding(context.ingest, chain.id, address))
      assert.deepEqual(comparable(present), comparable(firstFunding(chain, address)), `present row of ${address}`)
      assert.deepEqual(await ask(world, address), comparable(present), `answer for ${address}`)
    }
    return refusals > 0
  }

const searchesPerRun = 5

/** Searches the node for the first fundings of some addresses. */
export const searchAlteredChain =
  (database: TestContext): AlteredRun =>
  async (seed, alterer) => {
    const world = openChainWorld(database, seed % worldsCount, 'probe', alterer)
    const { chain, node, clock, draws } = world
    const steady = chain.addresses().filter((address) => !chain.destroyed.has(address))
    const hasCode = (address: string) => chain.accountAt(address, chain.head.number).code !== '0x'
    const [contracts, accounts] = [steady.filter(hasCode), steady.filter((address) => !hasCode(address))]
    const addresses = Array.from({ length: searchesPerRun }, (_, at) =>
      draws.pick(at % 3 === 1 && contracts.length > 0 ? contracts : accounts),
    )
    const first: unknown[] = []
    // Without this, the first search would wait for the test of the node until its deadline.
    await node.each()
    for (const address of addresses) first.push(await ask(world, address))
    alterer.stop()
    clock.advance(2 * hourMs)
    await node.each()
    // A node that was never altered leads to the truth, or to a refusal by the rules.
    const clean = openChainWorld(database, seed % worldsCount, 'probe', alterer)
    await clean.node.each()
    let refusals = 0
    for (const [at, address] of addresses.entries()) {
      const expected = await ask(clean, address)
      assert.deepEqual(await ask(world, address), expected, `after recovery: ${address}`)
      if (typeof first[at] === 'string' && first[at] !== expected) refusals += 1
    }
    return refusals > 0
  }

/** Steps inside a transaction, and whether a step failed: only the node executes them. */
const innerSteps =
  /\.calls(\.|$)|\.error$|^(\d+\.)?result(\.\d+)?(\.result)?\.(to|type)$|\.action\.|\.result(\.address)?$|\.type$/

/** What a single node can state without contradicting itself (docs/security.md#trust-in-sources). */
export function isBelievedOfChain({ question, path }: AlterationReport): boolean {
  if (question.startsWith('eth_getBlockByNumber')) return /\.timestamp$/.test(path)
  return /^(trace_block|trace_transaction|debug_trace)/.test(question) && innerSteps.test(path)
}

export const chainWorlds = worldsCount
