// The next fork of a chain: what its nodes answer to `eth_config`, and what coverage reports of it.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { coverageReport } from '#operations/coverage.ts'
import { openContext } from '#test/context.ts'
import { forkAt, serveForkSchedule } from '#test/fork-schedule-node.ts'
import { waitUntil } from '#test/wait-until.ts'
import { followForks } from './funding/index/start-chains.ts'
import { findNode } from './nodes.ts'

test('coverage has the next fork of a chain, whether it is supported, and whether all nodes schedule it', async () => {
  let first: object | null | undefined
  let second: object | null | undefined
  await using one = await serveForkSchedule(() => first)
  await using other = await serveForkSchedule(() => second)
  const rpc = [{ url: one.url }, { url: other.url }]
  await using context = await openContext({ explorer: { chains: [{ id: '1', name: 'One', mode: 'probe', rpc }] } })
  const node = findNode(context, '1')
  assert(node)
  const forkUnix = context.clock.now() / 1000 + 20 * 86_400
  const at = new Date(forkUnix * 1000).toISOString()
  let polls = 0
  const stop = new AbortController()
  const following = followForks(context, node, stop.signal, async () => {
    polls += 1
  })
  const read = async () => {
    const before = polls
    context.clock.advance(3_600_000)
    await waitUntil(() => polls > before)
    const [stream] = (await coverageReport(context)).streams
    const names = [one.url, other.url]
    return {
      fork: stream?.nextFork,
      problem: names.reduce((text, url, index) => text.replace(url, `node ${index + 1}`), stream?.problem ?? ''),
    }
  }
  await waitUntil(() => polls > 0)
  assert.equal((await read()).fork, undefined)

  first = forkAt(forkUnix, 'amsterdam')
  const known = { name: 'amsterdam', epoch: null, at, supported: true, differs: false }
  assert.deepEqual((await read()).fork, known)
  // The other node has `eth_config`, but was not upgraded.
  second = null
  const { fork, problem } = await read()
  assert.deepEqual(fork, { ...known, differs: true })
  assert.match(problem, /node 1 schedules a fork at .* \(amsterdam, in 19 days\); node 2 schedules no fork/)

  second = first = forkAt(forkUnix + 86_400, 'unknown')
  const moved = new Date((forkUnix + 86_400) * 1000).toISOString()
  assert.deepEqual((await read()).fork, {
    name: 'unknown fork',
    epoch: null,
    at: moved,
    supported: false,
    differs: false,
  })
  second = first = null
  assert.deepEqual(await read(), { fork: undefined, problem: '' })
  stop.abort()
  await following
})
