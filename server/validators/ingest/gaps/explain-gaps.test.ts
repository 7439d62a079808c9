// Why gaps could not be filled, and where operators see it.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { coverageReport, coverageRoute, recentCoverage } from '#operations/coverage.ts'
import { storeDiagnoses } from '#operations/doctor.ts'
import { type Log, silentLog } from '#runtime/log.ts'
import { BeaconError } from '#sources/beacon/client.ts'
import { addCoverage } from '#storage/coverage.ts'
import { openContext, type TestContext, testNowMs } from '#test/context.ts'
import { ManualClock } from '#test/manual-clock.ts'
import type { EpochProcessor } from '../epochs/epoch-processor.ts'
import { Follower } from '../follow.ts'
import { readGapReasons, storeGapReasons } from './explain-gaps.ts'
import { createFillGapsSchedule } from './schedule-fill-gaps.ts'

const signal = new AbortController().signal

/** The epochs 110 to 119 are missing. */
async function openWithGap(): Promise<TestContext> {
  const beacon = { urls: ['http://beacon.test'], fromEpoch: 100 }
  const context = await openContext({ validators: { networks: { mainnet: { beacon } } } })
  const { genesisUnix } = context.settings.validators.networks.mainnet
  const until = Math.floor((context.clock.now() / 1000 - genesisUnix) / 384) - 3
  await context.dutiesState.write(async (tx) => {
    await addCoverage(tx, 'duties/mainnet', 100, 110)
    await addCoverage(tx, 'duties/mainnet', 120, until)
  })
  return context
}

/** Each attempt fails. */
function createFailingProcessor(context: TestContext, fail: (from: number) => Error): EpochProcessor {
  const processor: Partial<EpochProcessor> = {
    chain: async () => ({ identity: context.settings.validators.networks.mainnet }) as never,
    firstReadable: async ({ from }) => from,
    preparePast: async () => true,
    processSegment: async ({ from }) => {
      throw fail(from)
    },
  }
  return processor as EpochProcessor
}

test('what a node lacks is the reason of the gap', async () => {
  await using context = await openWithGap()
  const processor = createFailingProcessor(context, (from) => new BeaconError(`no node has the state of epoch ${from}`))
  assert.equal(await new Follower(context, 'mainnet', processor).fillGaps(signal), false)
  const reason = 'no node has the state of epoch 110'
  assert.deepEqual(await readGapReasons(context.ingest, 'mainnet'), [{ from: 110, until: 120, reason }])
})

test('a gap that turns out to be unreadable does not keep an earlier one from being filled', async () => {
  await using context = await openWithGap()
  await context.dutiesState.write((tx) => addCoverage(tx, 'duties/mainnet', 112, 115))
  const attempts: number[] = []
  const processor = createFailingProcessor(context, (from) => {
    attempts.push(from)
    return new BeaconError('no state before it')
  })
  assert.equal(await new Follower(context, 'mainnet', processor).fillGaps(signal), false)
  assert.deepEqual(attempts, [115, 110])
  assert.deepEqual(
    (await readGapReasons(context.ingest, 'mainnet')).map(({ from, until }) => [from, until]),
    [
      [110, 112],
      [115, 120],
    ],
  )
})

test('gaps are filled at the start, every hour, and as long as some can be filled', async () => {
  const clock = new ManualClock(testNowMs)
  const warnings: string[] = []
  const log: Log = { ...silentLog, warn: (_, message) => void warnings.push(message), child: () => log }
  let [calls, mayContinue, fails] = [0, false, false]
  let callMs = 5_000
  const fillGaps = async () => {
    calls += 1
    clock.advance(callMs)
    if (fails) throw new Error('no node')
    return mayContinue
  }
  const fill = createFillGapsSchedule(
    { clock, log } as never,
    { network: 'mainnet', fillGaps },
    { onStored: () => {}, onEnd: () => {} },
  )
  const callsAfter = async (waitMs: number) => {
    clock.advance(waitMs)
    const before = calls
    await fill(signal)
    return calls - before
  }
  const hourMs = 3_600_000
  assert.deepEqual([await callsAfter(0), await callsAfter(hourMs - 1)], [1, 0])
  mayContinue = true
  assert.deepEqual([await callsAfter(1), await callsAfter(0), await callsAfter(0)], [1, 1, 1])
  // Several short ones with one poll.
  callMs = 1_000
  assert.deepEqual([await callsAfter(0), await callsAfter(0)], [5, 5])
  callMs = 0
  fails = true
  assert.deepEqual([await callsAfter(0), await callsAfter(hourMs - 1), await callsAfter(1)], [1, 0, 1])
  assert.deepEqual(new Set(warnings), new Set(['missing epochs could not be read; retrying in an hour']))
})

test('the reason is in the coverage report and the doctor, but not in the public report', async () => {
  await using context = await openWithGap()
  const reason =
    'http://10.0.0.7:5052 has no state of epoch 110 (status 404); no full state before epoch 110 was recorded'
  await storeGapReasons(context.ingest, 'mainnet', [{ from: 108, until: 120, reason }], context.clock.now())
  const { streams } = await coverageReport(context)
  assert.deepEqual(streams.find(({ name }) => name === 'network mainnet')?.gaps, [{ from: 110, until: 120, reason }])
  const findings = await storeDiagnoses(context, 0)
  const { message = '', todo } = findings.find(({ name }) => name === 'network mainnet') ?? {}
  assert(message.startsWith('epochs 110 to 119 are missing, ') && message.endsWith(` old: ${reason}`), message)
  assert.match(
    todo ?? '',
    /^add a node that has the state and the blocks of these epochs to validators\.networks\.mainnet\.beacon\.urls/,
  )
  const { body } = await coverageRoute(recentCoverage(context)).read({} as never)
  assert.doesNotMatch(String(body), /10\.0\.0\.7/)
  assert.match(String(body), /"gaps":\[\{"from":110,"until":120\}\]/)
})
