// What is reported about nodes of a chain that disagree or cannot be compared
// (behaviour/explorer.md#comparison-of-nodes).
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { findNode, openNode } from '#explorer/nodes.ts'
import { coverageReport } from '#operations/coverage.ts'
import { SimulatedChain } from '#simulator/evm/chain.ts'
import type { Post } from '#sources/evm/rpc-endpoint.ts'
import { FetchError } from '#sources/http-client.ts'
import { openContext, testNowMs } from '#test/context.ts'
import { JumpingClock } from '#test/jumping-clock.ts'
import { LimitedNode } from '#test/simulator/limited-node.ts'
import { chainFindings, followChain, reportIndexProblems } from './start-chains.ts'

/** A chain with two nodes, of which the second one is changed by `second`. */
async function openTwoNodes(second: Post | undefined) {
  const chain = new SimulatedChain({ seed: 'compare', id: '1', finalLag: 3, accounts: 10, destroyedMaySend: false })
  chain.mine(20)
  const simulated = new LimitedNode(chain, { traces: ['trace_block'] })
  const rpc = ['http://one/', 'http://two/'].map((url) => ({ url }))
  const database = await openContext({ explorer: { chains: [{ id: '1', name: 'Simulated', mode: 'index', rpc }] } })
  const clock = new JumpingClock(testNowMs)
  const right: Post = async (_, { body = '' }) => (await simulated.respond(body)).text
  const post: Post = (url, options) => ((url === 'http://two/' && second) || right)(url, options)
  const [settings = assert.fail()] = database.settings.explorer.chains
  const node = openNode(settings, { clock }, { post })
  database.explorer.nodes.set('1', node)
  assert.equal(findNode(database, '1'), node)
  const context = { ...database, clock }
  /** One pass. The long sleep is the time limit of the pass, the short one the wait for the next pass. */
  const follow = async () => {
    await node.each()
    const stop = new AbortController()
    const sleep = (waitMs: number) =>
      waitMs > 86_400_000 ? new Promise<void>(() => {}) : Promise.resolve(stop.abort())
    const onePass = {
      ...{ now: () => clock.now(), monotonicMs: () => clock.monotonicMs(), every: () => () => {} },
      sleep,
    }
    await followChain({ ...context, clock: onePass }, node, stop.signal, () => {})
  }
  const report = async () => {
    const findings = await chainFindings(context)
    const finding = findings.find(({ name }) => name === 'index of chain 1')
    const [problem] = await reportIndexProblems(context)
    const { nodes, read } = (await coverageReport(context)).streams[0] ?? assert.fail()
    return { finding, problem, nodes, read }
  }
  return { chain, simulated, follow, report, [Symbol.asyncDispose]: () => database[Symbol.asyncDispose]() }
}

test('nodes that agree are reported as such', async () => {
  await using world = await openTwoNodes(undefined)
  await world.follow()
  const { finding, problem, nodes, read } = await world.report()
  assert.deepEqual([finding, problem, nodes, read], [undefined, undefined, 'agree', world.chain.final + 1])
})

test('nodes that disagree stop the index and are named', async () => {
  let isWrong = true
  let answer: Post = () => assert.fail()
  await using world = await openTwoNodes((url, options) => answer(url, options))
  answer = async (_, { body = '' }) => {
    const { text } = await world.simulated.respond(body)
    return isWrong ? text.replaceAll(/"value":"0x[1-9a-f][0-9a-f]*"/g, '"value":"0x1"') : text
  }
  await world.follow()
  const { finding, problem, nodes, read } = await world.report()
  assert.equal(finding?.ok, false)
  const names = /^stopped: .*nodes disagree about the finalized block \d+: http:\/\/one and http:\/\/two\./
  assert.match(finding?.message ?? '', names)
  assert.match(problem?.message ?? '', /http:\/\/one and http:\/\/two/)
  assert.deepEqual([nodes, read], ['disagree', 0])
  isWrong = false
  await world.follow()
  const after = await world.report()
  assert.deepEqual([after.finding, after.nodes, after.read], [undefined, 'agree', world.chain.final + 1])
})

test('a node that does not answer is reported, and the index continues', async () => {
  await using world = await openTwoNodes(() => Promise.reject(new FetchError('network', 'connection refused')))
  await world.follow()
  const { finding, problem, nodes, read } = await world.report()
  const reason = 'http://two: connection refused'
  assert.deepEqual([finding?.ok, finding?.message], [true, `nodes not compared: ${reason}`])
  assert.equal(problem?.message, `a node is not compared with the others: ${reason}`)
  assert.deepEqual([nodes, read], ['not compared', world.chain.final + 1])
})
