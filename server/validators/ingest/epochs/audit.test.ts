// Ingest compares a sample of every epoch with the rewards that the node reports and stores the result. A node that
// does not report rewards does not delay ingest.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Network } from '#api/contract/wire/validators.ts'
import { systemClock } from '#runtime/clock.ts'
import { openBeacon } from '#sources/beacon/client.ts'
import type { StateReader } from '#storage/state.ts'
import { openReplay, type Replay, type ReplayOptions } from '#test/beacon-replay.ts'
import { openContext } from '#test/context.ts'
import { type AuditLine, auditTotals } from '#validators/duties/audits.ts'
import { coveredEpochs } from '#validators/duties/coverage.ts'
import { networkId } from '#validators/duties/layout.ts'
import { Follower } from '../follow.ts'
import { withChainTimes } from '../read/chain-identity.ts'
import { beaconFindings } from '../start.ts'
import type { IngestStep } from '../status/ingest-progress.ts'
import { chooseSample } from './audit.ts'
import type { ProcessedEpoch } from './process-epoch.ts'

const epochsRead = 13

async function ingest(node: Replay, auditValidators: number) {
  const beacon = { urls: [node.url], fromEpoch: 0, auditValidators }
  const context = await openContext({
    validators: { networks: { hoodi: { epochsPerHour: 4, epochsPerDay: 8, beacon } } },
  })
  const settings = await withChainTimes({ ...context, clock: systemClock })
  const client = openBeacon({ network: 'hoodi', urls: [node.url], timeoutMs: 10_000, clock: systemClock, backoffMs: 1 })
  const steps: IngestStep[] = []
  await new Follower({ ...context, settings }, 'hoodi', client).catchUp(new AbortController().signal, (step) =>
    steps.push(step),
  )
  assert.deepEqual(await coveredEpochs(context.duties, 'hoodi'), [{ from: 0, until: epochsRead }])
  return { context: { ...context, settings }, steps, [Symbol.asyncDispose]: () => context[Symbol.asyncDispose]() }
}

const readAudit = (duties: StateReader, network: Network): Promise<AuditLine[]> =>
  duties.all<AuditLine>(
    'select epoch, part, compared, differing, gwei from reward_audits where network = ? order by epoch, part',
    networkId(network),
  )

const rewards = /\/rewards\//
const sum = (lines: readonly AuditLine[], of: (line: AuditLine) => number) =>
  lines.reduce((total, line) => total + of(line), 0)

test('a sample of each epoch agrees with the recorded node', async () => {
  await using node = await openReplay()
  await using at = await ingest(node, 10)
  const lines = await readAudit(at.context.duties, 'hoodi')
  assert.equal(new Set(lines.map(({ epoch }) => epoch)).size, epochsRead)
  const votes = lines.filter(({ part }) => part === 'target')
  assert(
    votes.every(({ compared }) => compared === 10),
    'all 64 validators are eligible',
  )
  assert.equal(
    sum(lines, (line) => line.differing),
    0,
  )
  // One block and its sync committee per epoch.
  assert(lines.filter(({ part }) => part === 'block').every(({ compared }) => compared === 1))
  const requests = node.requests.filter((path) => rewards.test(path))
  assert(requests.length <= 3 * epochsRead, `${requests.length} requests`)
  assert.equal(
    at.steps.reduce((total, { compared }) => total + compared, 0),
    sum(lines, (line) => line.compared),
  )
})

test('a difference is stored, reported with the step, and shown in /readyz', async () => {
  const meddle: ReplayOptions['meddle'] = (exchange) => {
    if (!exchange.path.endsWith('/rewards/attestations/5')) return exchange
    // The node reports 7 gwei more for the targets of epoch 5.
    const body = exchange.body.replaceAll(/("target":")(-?\d+)/g, (_, name, gwei) => `${name}${Number(gwei) + 7}`)
    return { ...exchange, body }
  }
  await using node = await openReplay({ meddle })
  await using at = await ingest(node, 10)
  const differences = (await readAudit(at.context.duties, 'hoodi')).filter(({ differing }) => differing > 0)
  assert.deepEqual(differences, [{ epoch: 5, part: 'target', compared: 10, differing: 10, gwei: 70 }])
  assert.deepEqual(
    at.steps.map(({ until, differing }) => [until, differing]),
    [
      [4, 0],
      [8, 10],
      [12, 0],
      [13, 0],
    ],
  )
  const { differing } = await auditTotals(at.context.duties, 'hoodi', 6)
  assert.equal(differing, 0)
  const [finding] = await beaconFindings({ ...at.context, clock: at.context.clock })
  assert.match(finding?.message ?? '', /; 10 of \d+ rewards of the last day differ from the node$/)
})

test('a node that does not report rewards is rarely asked for them and does not delay ingest', async () => {
  for (const status of [404, 500]) {
    await using node = await openReplay({
      meddle: (exchange) => (rewards.test(exchange.path) ? { ...exchange, status, body: '{}' } : exchange),
    })
    await using at = await ingest(node, 10)
    assert.deepEqual(await readAudit(at.context.duties, 'hoodi'), [])
    const requests = new Set(node.requests.filter((path) => rewards.test(path)))
    assert(requests.size <= 3, [...requests].join())
  }
})

test('with auditValidators 0, no rewards are requested', async () => {
  await using node = await openReplay()
  await using at = await ingest(node, 0)
  assert.deepEqual(await readAudit(at.context.duties, 'hoodi'), [])
  assert.equal(node.requests.filter((path) => rewards.test(path)).length, 0)
})

test('samples rotate through the network and contain only eligible validators', () => {
  const processed = {
    voteRewards: { eligible: Uint8Array.of(1, 1, 0, 1, 1, 1, 1) },
    effects: [{ slot: 8 }, { slot: 9 }, { slot: 11 }],
  } as unknown as ProcessedEpoch
  assert.deepEqual(chooseSample(0, processed, 3), { validators: [0, 1], slots: [8] })
  // Epoch 1 starts at 1 · 3; epoch 2 starts at 2 · 3 = 6 and wraps around.
  assert.deepEqual(chooseSample(1, processed, 3), { validators: [3, 4, 5], slots: [9] })
  assert.deepEqual(chooseSample(2, processed, 3), { validators: [6, 0, 1], slots: [11] })
  const noValidators = { voteRewards: { eligible: new Uint8Array(0) }, effects: [] } as unknown as ProcessedEpoch
  assert.deepEqual(chooseSample(3, noValidators, 3), { validators: [], slots: [] })
})
