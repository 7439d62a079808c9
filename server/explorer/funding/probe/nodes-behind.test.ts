// 4.3 with nodes that are behind, claim to be ahead, or are stale (behaviour/explorer.md#nodes-that-are-behind).
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { Fault } from '#core/fault.ts'
import { fundedBy } from '#explorer/endpoints/funded-by.ts'
import { requireNode } from '#explorer/nodes.ts'
import { isReady } from '#http/health.ts'
import { coverageReport, currentCoverage } from '#operations/coverage.ts'
import { storeDiagnoses } from '#operations/doctor.ts'
import { systemClock } from '#runtime/clock.ts'
import { testRequestInfo } from '#test/context.ts'
import { blockOf, openProbeChain, unknownAddress } from '#test/probe-chain.ts'
import { firstFunding } from '#test/simulator/first-funding.ts'
import { findFunding } from '../fundings.ts'
import { catchUpIndex } from '../index/index-chain.ts'
import { chainFindings } from '../index/start-chains.ts'

const good = { traces: ['trace_block'] } as const
const behind = { ...good, behindBlocks: 90 }
const ahead = { ...good, aheadBlocks: 1000 }

type ProbeChain = Awaited<ReturnType<typeof openProbeChain>>

/** The block of each address without code, or the code of the error. */
async function askAll({ chain, steady, ask }: ProbeChain) {
  const plain = steady.filter((address) => chain.accountAt(address, chain.head.number).code === '0x')
  const found: [address: string, block: number | string | undefined][] = []
  for (const address of plain)
    found.push([
      address,
      await ask(address).then(
        (outcome) => blockOf(outcome),
        (error: Fault) => error.code,
      ),
    ])
  return found
}

describe('of two nodes', () => {
  for (const [name, nodes] of [
    ['the first is 90 blocks behind', [behind, good]],
    ['the second is 90 blocks behind', [good, behind]],
    ['the first claims to be 1000 blocks ahead, and that accounts are empty', [ahead, good]],
  ] as const)
    test(`${name}: every funding is found`, async () => {
      await using at = await openProbeChain(nodes[0], {}, {}, {}, [nodes[1]])
      const found = await askAll(at)
      assert.ok(found.length > 50)
      const expected = found.map(([address, block]) =>
        typeof block === 'string' ? [address, block] : [address, firstFunding(at.chain, address)?.block],
      )
      assert.deepEqual(found, expected)
      const late = found.filter(([, block]) => Number(block) > at.chain.head.number - 90)
      assert.ok(late.length > 5, `${late.length} were funded in the last 90 blocks`)
      assert.ok(found.filter(([, block]) => typeof block === 'string').length < found.length / 4)
    })

  test('one claims to be ahead: "No data found" is final up to what the other one has as final', async () => {
    await using at = await openProbeChain(ahead, {}, {}, {}, [good])
    const confidence = { asOf: at.chain.final, finality: 'finalized', coverage: 'probed' }
    assert.deepEqual(await at.ask(unknownAddress), { is: 'nothing', confidence })
  })

  test('one is behind: /readyz, coverage and doctor name it, and /readyz stays 200', async () => {
    await using at = await openProbeChain(behind, {}, {}, {}, [good])
    const [finding = assert.fail()] = await chainFindings(at.context)
    assert.match(finding.message, /127\.0\.0\.1:\d+\/? is behind: its newest block is 110, another node is at 200/)
    assert.deepEqual([finding.ok, finding.required, isReady([finding])], [false, false, true])
    const [stream] = (await coverageReport(at.context)).streams
    assert.match(stream?.problem ?? '', /is behind/)
    const warnings = (await storeDiagnoses(at.context, 0)).filter(({ name }) => name === 'nodes of chain 1')
    assert.deepEqual(
      warnings.map(({ level }) => level),
      ['warn'],
    )
  })
})

/** A clock that is this long after the newest block. */
const clockAfter = ({ chain }: ProbeChain, seconds: number) => ({
  ...systemClock,
  now: () => (chain.head.timeUnix + seconds) * 1000,
})

describe('a head that is 1823 s old', () => {
  for (const mode of ['probe', 'both'])
    test(`mode ${mode}: nothing is final, nothing is stored, and /readyz, coverage and doctor report it`, async () => {
      await using at = await openProbeChain(good, {}, { mode, headMaxAgeMs: 300_000 })
      const context = { ...at.context, clock: clockAfter(at, 1823) }
      const ask = (address: string) => fundedBy.handle({ chainid: '1', address }, context, testRequestInfo())
      const confidence = { asOf: at.chain.head.number, finality: 'head', coverage: 'probed' }
      assert.deepEqual(await ask(unknownAddress), { is: 'nothing', confidence })
      const address = at.someone(({ block }) => block > 50 && block <= at.chain.final)
      const outcome = await ask(address)
      assert.equal(blockOf(outcome), firstFunding(at.chain, address)?.block)
      assert.equal(outcome.is === 'body' && outcome.confidence?.finality, 'head')
      assert.equal(await findFunding(context.ingest, '1', address), undefined)
      const [finding = assert.fail()] = await chainFindings(context)
      assert.match(finding.message, /its newest block, 200, is 30 min old; no search of this chain has a final result/)
      assert.deepEqual([finding.ok, isReady([finding])], [false, true])
      const { fresh, streams } = await currentCoverage(context)
      assert.deepEqual([fresh, streams[0]?.status, streams[0]?.fresh], [false, 'stale', false])
      const { level, message } = (await storeDiagnoses(context, 0)).find(({ name }) => name === 'chain 1') ?? {}
      assert.equal(level, 'fail')
      assert.match(message ?? '', /stale: its newest block, 200, is 30 min old/)
    })

  test('an index reports "No data found" with finality head, in every process, and its fundings as final', async () => {
    await using at = await openProbeChain(good, {}, { mode: 'index', headMaxAgeMs: 300_000 })
    const context = { ...at.context, clock: clockAfter(at, 1823) }
    await catchUpIndex(context, requireNode(context, '1'), () => {})
    // Another process has not called a node.
    context.explorer.nodes.clear()
    const ask = (address: string) => fundedBy.handle({ chainid: '1', address }, context, testRequestInfo())
    const confidence = { asOf: at.chain.final, finality: 'head', coverage: 'complete' }
    assert.deepEqual(await ask(unknownAddress), { is: 'nothing', confidence })
    const address = at.someone(({ block }) => block <= at.chain.final)
    const outcome = await ask(address)
    assert.equal(outcome.is === 'body' && outcome.confidence?.finality, 'finalized')
    const [stream] = (await coverageReport(context)).streams
    assert.deepEqual([stream?.status, stream?.fresh, stream?.ageSeconds], ['stale', false, 1823])
    const fresh = { ...context, clock: clockAfter(at, 12) }
    await catchUpIndex(fresh, requireNode(fresh, '1'), () => {})
    const later = await fundedBy.handle({ chainid: '1', address: unknownAddress }, fresh, testRequestInfo())
    assert.equal(later.is === 'nothing' && later.confidence?.finality, 'finalized')
  })

  test('is not checked with headMaxAgeMs: 0', async () => {
    await using at = await openProbeChain(good, {}, { headMaxAgeMs: 0 })
    const context = { ...at.context, clock: clockAfter(at, 1823) }
    const outcome = await fundedBy.handle({ chainid: '1', address: unknownAddress }, context, testRequestInfo())
    assert.equal(outcome.is === 'nothing' && outcome.confidence?.finality, 'finalized')
  })
})
