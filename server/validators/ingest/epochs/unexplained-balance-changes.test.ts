// Deposits and consolidations are measures, and explain balances. What they do not explain is stored and reported by epoch
// (behaviour/validators.md#unexplained-balance-changes).

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { systemClock } from '#runtime/clock.ts'
import { presentForks } from '#simulator/beacon/plan.ts'
import { openBeacon } from '#sources/beacon/client.ts'
import { openNodeOfRun } from '#test/client-of-run.ts'
import { openContext } from '#test/context.ts'
import { readEpoch } from '#test/read-states.ts'
import { type CompletedNetwork, simulateNetwork } from '#test/simulator/simulate-network.ts'
import { Follower } from '../follow.ts'
import { withChainTimes } from '../read/chain-identity.ts'
import { NodeStates } from '../read/node-states.ts'
import type { IngestStep } from '../status/ingest-progress.ts'
import { type Carry, processEpoch } from './process-epoch.ts'
import { Sums } from './sums.ts'

async function ingest(world: CompletedNetwork) {
  await using node = await openNodeOfRun(world)
  const beacon = { urls: [node.url], fromEpoch: 0 }
  await using context = await openContext({
    validators: { networks: { hoodi: { epochsPerHour: 2, epochsPerDay: 8, beacon } } },
  })
  const settings = await withChainTimes({ ...context, clock: systemClock })
  const client = openBeacon({ network: 'hoodi', urls: [node.url], timeoutMs: 10_000, clock: systemClock, backoffMs: 1 })
  const steps: IngestStep[] = []
  const errors: string[] = []
  const error = (fields: object, text?: string) => void errors.push(JSON.stringify(fields), text ?? '')
  const log = { ...context.log, error } as typeof context.log
  await new Follower({ ...context, settings, log }, 'hoodi', client).catchUp(new AbortController().signal, (step) =>
    steps.push(step),
  )
  return {
    errors,
    reported: steps.map((step) => step.unexplainedBalanceChanges),
    rows: await context.duties.all(
      'select epoch, validators, in_gwei, out_gwei from unexplained_balance_changes order by epoch',
    ),
  }
}

/** The deposits and consolidations of each epoch, and what nothing explains. */
async function transfersOf(world: CompletedNetwork) {
  await using node = await openNodeOfRun(world)
  const beacon = openBeacon({ network: 'hoodi', urls: [node.url], timeoutMs: 10_000, clock: systemClock, backoffMs: 1 })
  const { rules } = await beacon.chain()
  const states = new NodeStates(beacon)
  let carry: Carry | undefined
  const found = []
  for (let epoch = 0; epoch < world.finalized - 1; epoch++) {
    const data = await readEpoch(states, epoch)
    const { transfers, unexplained, ...processed } = processEpoch(rules, data, carry, new Sums())
    carry = processed.carry
    const changes = new Map<number, number>()
    for (const [index, gwei] of [...transfers.deposited, ...transfers.consolidated])
      changes.set(index, (changes.get(index) ?? 0) + gwei)
    found.push({ transfers: sumsOf(epoch, [...changes.values()]), unexplained })
  }
  return found
}

function sumsOf(epoch: number, all: readonly number[]) {
  const changes = all.filter((gwei) => gwei !== 0)
  const sum = (of: (gwei: number) => number) => changes.reduce((total, gwei) => total + of(gwei), 0)
  return {
    epoch,
    validators: changes.length,
    in_gwei: sum((gwei) => Math.max(0, gwei)),
    out_gwei: sum((gwei) => Math.max(0, 0 - gwei)),
  }
}

/** The balance changes of an epoch without earnings and withdrawals. */
function expectedChangesIn({ plan, truth, blocks, snapshots }: CompletedNetwork, epoch: number) {
  const [first, last] = [epoch * plan.slotsPerEpoch, (epoch + 1) * plan.slotsPerEpoch]
  const withdrawn = new Map<number, bigint>()
  for (const { slot, withdrawals } of blocks.values()) {
    if (slot <= first || slot > last) continue
    for (const { validator, amount } of withdrawals) withdrawn.set(validator, (withdrawn.get(validator) ?? 0n) + amount)
  }
  const [now, next] = [snapshots[first]?.validators ?? [], snapshots[last]?.validators ?? []]
  const sums = next.map(({ balance }, index) => {
    const earned = BigInt(truth.rows(epoch).get(index)?.earnings ?? 0)
    return Number(balance - (now[index]?.balance ?? 0n) - earned + (withdrawn.get(index) ?? 0n))
  })
  return sumsOf(epoch, sums)
}

const calm = { outage: { from: 0, until: 0 }, slashing: 0, orphaned: 0, missed: 0.05, hasExecution: false }

for (const [name, forkEpochs] of [
  ['since Electra', presentForks],
  ['before Electra', { altair: 0, bellatrix: 0, capella: 0, deneb: 0 }],
] as const) {
  const world = simulateNetwork(`moving/${name}`, { ...calm, epochs: 16, balanceChanges: 0.5, forkEpochs })
  const expected = Array.from({ length: world.finalized - 1 }, (_, epoch) => expectedChangesIn(world, epoch))

  test(`deposits and consolidations explain the balances of each epoch: ${name}`, async () => {
    assert(expected.filter(({ validators }) => validators > 0).length > 3, 'epochs with changes')
    assert.equal(
      expected.some(({ out_gwei }) => out_gwei > 0),
      name === 'since Electra',
      'consolidations',
    )
    const found = await transfersOf(world)
    assert.deepEqual(
      found.map(({ transfers }) => transfers),
      expected,
    )
    for (const { unexplained } of found) assert.equal(unexplained, undefined)
  })

  test(`nothing is stored or reported if the node lists all of them: ${name}`, async () => {
    const { rows, reported } = await ingest(world)
    assert.deepEqual(rows, [])
    assert(reported.length > 3)
    assert(reported.every(({ validators, inGwei, outGwei }) => validators + inGwei + outGwei === 0))
  })
}

test('a balance that the rules do not explain is stored, counted, reported and does not stop ingest', async () => {
  const world = simulateNetwork('moving/unexplained', {
    ...calm,
    epochs: 12,
    slotsPerEpoch: 4,
    forkEpochs: presentForks,
  })
  const epoch = 5
  // The state at the end of the epoch has 7 gwei more for one validator than the rules allow, and so have the later ones.
  const snapshots = world.snapshots.slice(epoch * 4 + 4)
  for (const { validators } of snapshots) {
    const first = validators[0] as { balance: bigint }
    first.balance += 7n
  }
  const { rows, reported, errors } = await ingest(world)
  assert.deepEqual(rows, [{ epoch, validators: 1, in_gwei: 7, out_gwei: 0 }])
  assert.deepEqual(
    reported.map(({ inGwei }) => inGwei).filter((gwei) => gwei > 0),
    [7],
  )
  assert.match(errors.join(), /validator 0: 7 gwei/)
  assert.match(errors.join(), /defect of Tetrad/)
})
