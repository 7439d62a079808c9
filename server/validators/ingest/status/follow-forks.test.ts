// A network whose nodes, or whose two layers, do not schedule the same forks.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { coverageReport } from '#operations/coverage.ts'
import { type Alteration, jsonAt, openAlteringProxy, serveAnswers } from '#test/altering-proxy.ts'
import { openNodeOfRun } from '#test/client-of-run.ts'
import { openContext } from '#test/context.ts'
import { simulateNetwork } from '#test/simulator/simulate-network.ts'
import { waitUntil } from '#test/wait-until.ts'
import { followForks } from './follow-forks.ts'
import { registerRun } from './ingest-status.ts'

const world = simulateNetwork('forks', { epochs: 4, outage: { from: 0, until: 0 } })
const scheduling = (forks: object): Alteration => jsonAt<object>(/\/config\/spec$/, (spec) => ({ ...spec, ...forks }))

test('nodes that schedule other forks than the others are named, on both layers, until they agree', async () => {
  await using node = await openNodeOfRun(world)
  await using upgraded = await openAlteringProxy(node.url, scheduling({ GLOAS_FORK_EPOCH: '40000000' }))
  await using old = await openAlteringProxy(node.url, scheduling({}))
  await using execution = await serveAnswers(({ sent }) => {
    const answer = ({ id, method }: { id: number; method: string }) => {
      const result = method === 'eth_chainId' ? '0x1' : { current: { activationTime: 0 }, next: null }
      return { jsonrpc: '2.0', id, result }
    }
    const calls = JSON.parse(sent) as Parameters<typeof answer>[0] | Parameters<typeof answer>[0][]
    return { body: JSON.stringify(Array.isArray(calls) ? calls.map(answer) : answer(calls)) }
  })
  const urls = [upgraded.url, old.url]
  const mainnet = {
    ...{ beacon: { urls }, genesisUnix: world.genesisUnix },
    execution: { chainId: '1', rpc: [{ url: execution.url }] },
  }
  await using context = await openContext({ validators: { networks: { mainnet } } })
  const run = registerRun(context, 'mainnet')
  const stop = new AbortController()
  const following = followForks(context, 'mainnet', run, stop.signal)
  await waitUntil(() => run.status.otherForks !== undefined)
  const text = [...urls].reduce((all, url, at) => all.replaceAll(url, `node ${at + 1}`), run.status.otherForks ?? '')
  assert.match(text, /not scheduled by node 2: gloas of epoch 40000000 .*, which node 1 schedules/)
  assert.match(text, /the execution node schedules no fork, but the beacon nodes of mainnet schedule gloas/)
  const { streams } = await coverageReport(context)
  assert.match(streams.find(({ name }) => name === 'network mainnet')?.problem ?? '', /not scheduled by/)

  upgraded.alter()
  context.clock.advance(3_600_000)
  await waitUntil(() => run.status.otherForks === undefined)
  stop.abort()
  await following
})

test('a network with one node is not compared', async () => {
  await using context = await openContext({ validators: { networks: { mainnet: { beacon: { urls: ['http://a'] } } } } })
  const run = registerRun(context, 'mainnet')
  await followForks(context, 'mainnet', run, new AbortController().signal)
  assert.equal(run.status.otherForks, undefined)
})
