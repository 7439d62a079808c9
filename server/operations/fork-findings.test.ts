// What the doctor reports about the next fork: whether every node and both layers schedule it.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { type Epoch, epochStartMs } from '#core/chain-time.ts'
import { systemClock } from '#runtime/clock.ts'
import { openBeacon } from '#sources/beacon/client.ts'
import { jsonAt, openAlteringProxy } from '#test/altering-proxy.ts'
import { openNodeOfRun } from '#test/client-of-run.ts'
import { simulateNetwork } from '#test/simulator/simulate-network.ts'
import { beaconForkFindings, chainForkFindings, executionForkFindings } from './fork-findings.ts'

const world = simulateNetwork('forks', { epochs: 4, outage: { from: 0, until: 0 } })
const { slotSeconds, slotsPerEpoch } = world.plan
const startMs = (epoch: number) =>
  epochStartMs({ genesisUnix: world.genesisUnix, slotSeconds, slotsPerEpoch }, epoch as Epoch)
const startOf = (epoch: number) => new Date(startMs(epoch)).toISOString()
/** After all forks of the simulated chain. */
const nowMs = startMs(20) + 1000
const scheduling = (forks: object) => jsonAt<object>(/\/config\/spec$/, (spec) => ({ ...spec, ...forks }))

async function findingsOf(...schedules: readonly object[]) {
  await using node = await openNodeOfRun(world)
  await using resources = new AsyncDisposableStack()
  const urls: string[] = []
  for (const schedule of schedules)
    urls.push(resources.use(await openAlteringProxy(node.url, scheduling(schedule))).url)
  const beacon = openBeacon({ network: 'mainnet', urls, timeoutMs: 10_000, clock: systemClock, backoffMs: 1 })
  const signal = new AbortController().signal
  const findings = await beaconForkFindings('beacon', beacon, { now: () => nowMs }, signal)
  const nameOf = (text: string) => urls.reduce((short, url, at) => short.replaceAll(url, `node ${at + 1}`), text)
  return { lines: findings.map(({ level, message }) => `${level}: ${nameOf(message)}`), chain: await beacon.chain() }
}

describe('the next fork', () => {
  test('is reported with its date, and whether it is supported', async () => {
    const supported = await findingsOf({ GLOAS_FORK_EPOCH: '40' })
    assert.deepEqual(supported.lines, [`ok: next fork: gloas of epoch 40 (${startOf(40)}, in 0 days), supported`])
    const [unknown] = (await findingsOf({ GLOAS_FORK_EPOCH: '40', HEZE_FORK_EPOCH: '30' })).lines
    assert.match(unknown ?? '', /^warn: the fork heze of epoch 30 .* is not supported by this version of Tetrad$/)
    assert.deepEqual((await findingsOf({})).lines, [])
  })

  test('that one of two nodes does not schedule is reported with the node', async () => {
    const { lines } = await findingsOf({ GLOAS_FORK_EPOCH: '40' }, {})
    assert.deepEqual(lines.slice(1), [
      `warn: not scheduled by node 2: gloas of epoch 40 (${startOf(40)}, in 0 days), which node 1 schedules`,
    ])
  })

  test('that one of two nodes has missed is reported after it has started, also if it is unknown', async () => {
    const { lines } = await findingsOf({}, { HEZE_FORK_EPOCH: '12' })
    assert.deepEqual(lines, [
      `warn: not scheduled by node 1: heze of epoch 12 (${startOf(12)}), which node 2 schedules`,
    ])
  })

  test('starts at the same time on both layers, otherwise both times are reported', async () => {
    const { chain } = await findingsOf({ GLOAS_FORK_EPOCH: '40' })
    const about = (executionMs: number | null | undefined) =>
      executionForkFindings('execution', 'mainnet', chain, executionMs, nowMs).map(({ message }) => message)
    assert.deepEqual([about(startMs(40)), about(undefined)], [[], []])
    const consensus = `but the beacon nodes of mainnet schedule gloas of epoch 40 (${startOf(40)}, in 0 days)`
    assert.deepEqual(about(null), [`the execution node schedules no fork, ${consensus}`])
    const later = `the execution node schedules a fork at ${startOf(41)}, ${consensus}`
    assert.deepEqual(about(startMs(41)), [later])
  })

  test('of a chain is reported with its time, and with the node that does not schedule it', () => {
    const about = (...times: readonly (number | null)[]) => {
      const nodes = times.map((atMs, at) => ({
        name: `node ${at + 1}`,
        next: atMs === null ? null : { name: 'amsterdam', atMs, isKnown: true },
      }))
      return chainForkFindings('chain', nodes, nowMs).map(({ level, message }) => `${level}: ${message}`)
    }
    const fork = `a fork at ${startOf(40)} (amsterdam, in 0 days)`
    assert.deepEqual([about(), about(null, null)], [[], []])
    assert.deepEqual(about(startMs(40), startMs(40)), [`ok: schedules ${fork}, supported`])
    const differing = `warn: node 1 schedules ${fork}; node 2 schedules no fork`
    assert.deepEqual(about(startMs(40), null), [differing])
  })

  test('of a chain is reported if it is not known', () => {
    const next = { name: 'unknown fork', atMs: startMs(40), isKnown: false }
    const [finding] = chainForkFindings('chain', [{ name: 'node 1', next }], nowMs)
    assert.equal(finding?.level, 'warn')
    const fork = `schedules a fork at ${startOf(40)} (unknown fork, in 0 days)`
    assert.equal(finding?.message, `${fork}, which this version of Tetrad does not support`)
  })
})
