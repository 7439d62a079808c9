// Ingest over each client's dialect: the methods it has, its errors, and limits that the chain reaches.
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { Fault } from '#core/fault.ts'
import { findFirstFunding } from '#explorer/funding/find-first-funding.ts'
import { findFunding } from '#explorer/funding/fundings.ts'
import { catchUpIndex } from '#explorer/funding/index/index-chain.ts'
import { openNode } from '#explorer/nodes.ts'
import { SimulatedChain } from '#simulator/evm/chain.ts'
import type { Post } from '#sources/evm/rpc-endpoint.ts'
import { openContext, settingsWith, type TestContext, testNowMs } from '../context.ts'
import { JumpingClock } from '../jumping-clock.ts'
import { clientNames, dialects, type NodeDialect } from './dialects.ts'
import { firstFunding } from './first-funding.ts'
import { LimitedNode } from './limited-node.ts'

let database: TestContext
before(async () => {
  database = await openContext()
})
after(() => database[Symbol.asyncDispose]())

/** A chain whose node has the client's methods and errors, and small limits. */
function openChain(dialect: NodeDialect, id: string, stateBlocks?: number) {
  const chain = new SimulatedChain({ seed: 'dialects', id, destroyedMaySend: false })
  chain.mine(130)
  const simulated = new LimitedNode(chain, {
    ...{ dialect, traces: dialect.traces, receipts: true, batchMax: 3 },
    filterBlocks: Math.min(dialect.filterBlocks, 100),
    ...(stateBlocks !== undefined && { stateBlocks }),
  })
  const settings = settingsWith({
    explorer: { chains: [{ id, name: 'Simulated', rpc: [{ url: 'http://simulator/', batchMax: 20 }] }] },
  })
  const [chainSettings = assert.fail()] = settings.explorer.chains
  const clock = new JumpingClock(testNowMs)
  const post: Post = async (_, { body = '' }) => (await simulated.respond(body)).text
  const node = openNode(chainSettings, { clock }, { post })
  const explorer = { ...database.explorer, nodes: new Map([[id, node]]) }
  return { chain, node, context: { ...database, clock, settings, explorer } }
}

test('every client has a dialect, with the origin of its values', () => {
  assert.deepEqual(
    dialects.map(({ client }) => client),
    clientNames,
  )
  // At least one for each of: batches, methods or limits of trace_filter, kept states.
  for (const { origins } of dialects) assert.ok(origins.length >= 3)
})

for (const [at, dialect] of dialects.entries()) {
  describe(dialect.client, () => {
    test('an index is complete and true', async () => {
      const { chain, node, context } = openChain(dialect, String(100 + at))
      await catchUpIndex(context, node, () => {})
      for (const address of chain.addresses()) {
        const stored = await findFunding(context.ingest, chain.id, address)
        const truth = firstFunding(chain, address, chain.final)
        assert.deepEqual([stored?.tx, stored?.valueWei], [truth?.tx, truth?.valueWei], address)
      }
    })

    test('a search is true, and of a contract without trace_filter an error that names the remedy', async () => {
      const { chain, node, context } = openChain(dialect, String(200 + at))
      const { has } = (await node.each())[0]?.can ?? assert.fail()
      assert.equal(has.trace_filter, dialect.filterBlocks > 0)
      let found = 0
      for (const address of chain
        .addresses()
        .filter((one) => !chain.destroyed.has(one))
        .slice(0, 12)) {
        try {
          const { funding, confidence } = await findFirstFunding(context, chain.id, address)
          const truth = firstFunding(chain, address, funding ? Number.POSITIVE_INFINITY : Number(confidence.asOf))
          assert.equal(funding?.tx, truth?.tx, address)
          found += 1
        } catch (error) {
          assert.ok(error instanceof Fault && error.code === 'explorer.needs_index', `${address}: ${error}`)
        }
      }
      assert.ok(found > 4, `${found} found`)
    })

    test('pruned state is recognised by the error of the client', async () => {
      const { chain, node, context } = openChain(dialect, String(300 + at), Math.min(dialect.stateBlocks, 100))
      const { has, isClear } = (await node.each())[0]?.can ?? assert.fail()
      assert.deepEqual([has['historical balance'], isClear], [false, true])
      const [address = ''] = chain.rich
      await assert.rejects(findFirstFunding(context, chain.id, address), { code: 'explorer.not_archive' })
    })
  })
}
