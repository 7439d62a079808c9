import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { StreamView } from '#shared/console-calls.ts'
import { findProblems, isReady } from './problems.ts'

const healthy: StreamView = {
  ...{ group: 'validators', name: 'network mainnet', from: 0, until: 100, read: 100, gaps: [], gapsCount: 0 },
  ...{ target: 100, share: 1, remaining: 0, perSecond: null, remainingSeconds: null },
  ...{ ageSeconds: 900, gapless: true, fresh: true, status: 'healthy' },
}
const chain: StreamView = { ...healthy, group: 'explorer', name: 'chain 1' }
const passed = { name: 'server', ok: true, message: 'running' }
const problemsOf = (streams: readonly StreamView[], checks = [passed]) =>
  findProblems({ streams, checks }, ({ name }) => name).map(
    ({ tone, subject, text, remedy }) => `${tone} ${subject}: ${text} ${remedy}`,
  )

test('a server whose checks pass and whose streams are healthy or searched on request has no problems', () => {
  assert.deepEqual(problemsOf([healthy, { ...chain, status: 'on demand', fresh: null }]), [])
  const withoutNode: StreamView = { ...chain, status: 'not syncing', fresh: null }
  assert.deepEqual(problemsOf([withoutNode]), [], 'complete data without a node is no problem')
})

test('each problem has a sentence and a remedy, the worst first', () => {
  const gap = { read: 40, gaps: [{ from: 40, until: 100 }], gapsCount: 1, gapless: false }
  assert.deepEqual(
    problemsOf([
      { ...healthy, status: 'catching up' },
      { ...chain, ...gap, status: 'not syncing', fresh: null },
      { ...chain, name: 'chain 137', ...gap, read: 99, status: 'gaps' },
      { ...healthy, name: 'network hoodi', status: 'stale', fresh: false, ageSeconds: 7200, problem: 'node.test: 503' },
    ]),
    [
      'bad chain 137: 1 block is missing. Add a node that can trace them to explorer.chains, then run tetrad repair --chain 137.',
      'bad network hoodi: Nothing new was read for 2 h: node.test: 503. Check that the beacon node is running and in sync.',
      'warn network mainnet: It is catching up. Nothing to do: it is being read.',
      'warn chain 1: 60 blocks are missing, and it has no node. Add a node that can trace them to explorer.chains, then run tetrad repair --chain 1.',
    ],
  )
})

test('a failed check about a stream with a problem is the same problem; others have their own sentence', () => {
  const stale: StreamView = { ...healthy, status: 'stale', fresh: false }
  const checks = [
    { name: 'beacon mainnet', ok: false, message: '90 epochs behind' },
    { name: 'state store', ok: false, message: 'readable, but writes have failed; see the log' },
    { name: 'redis', ok: false, message: 'no connection', required: false as const },
  ]
  assert.deepEqual(problemsOf([stale], checks), [
    'bad state store: Readable, but writes have failed; see the log. Run tetrad doctor on the server for details.',
    'bad network mainnet: Nothing new was read for 15 min. Check that the beacon node is running and in sync.',
    'warn redis: No connection. Run tetrad doctor on the server for details.',
  ])
  const behind = { ...healthy, status: 'catching up' as const }
  assert.match(problemsOf([behind], checks)[0] ?? '', /^bad beacon mainnet: 90 epochs behind/)
  assert.deepEqual([isReady({ checks }), isReady({ checks: checks.slice(2) })], [false, true])
})

test('a feed that is behind is one problem, with its figures', () => {
  const passes = { behind: 3, takesSeconds: 180, everySeconds: 60 }
  const feed: StreamView = { ...healthy, group: 'markets', name: 'feed main', status: 'behind', fresh: false, passes }
  const message = '3 passes behind: a pass takes 180 s, the interval is 60 s; last pass 2 s old'
  const check = { name: 'market feed main', ok: false, message, required: false as const }
  assert.deepEqual(problemsOf([{ ...feed, ageSeconds: 180 }], [check]), [
    'warn feed main: 3 passes behind: a pass takes 180 s, the interval is 60 s. Its data is 3 min old. Raise perSecond or paging.size of the feed, or its everyMs.',
  ])
})

test('an error of a source that is up to date nevertheless is a notice', () => {
  assert.deepEqual(problemsOf([{ ...healthy, problem: 'node.test: 503' }]), [
    'warn network mainnet: Error: node.test: 503. Run tetrad doctor on the server for details.',
  ])
})

test('nodes that disagree are one problem, whatever the status', () => {
  const streams = (['healthy', 'stale', 'gaps'] as const).map((status) => ({
    ...healthy,
    status,
    nodes: 'disagree' as const,
  }))
  assert.equal(problemsOf(streams).length, 3)
  assert.match(problemsOf(streams)[1] ?? '', /^bad network mainnet: Its nodes disagree, so nothing is stored\./)
})
