// Deposits and consolidations are stored and reported by epoch, and are not earnings
// (behaviour/validators.md#balance-changes-outside-duties).

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { systemClock } from '#runtime/clock.ts'
import { presentForks } from '#simulator/beacon/plan.ts'
import { openBeacon } from '#sources/beacon/client.ts'
import { openNodeOfRun } from '#test/client-of-run.ts'
import { openContext } from '#test/context.ts'
import { type CompletedNetwork, simulateNetwork } from '#test/simulator/simulate-network.ts'
import { Follower } from '../follow.ts'
import { withChainTimes } from '../read/chain-identity.ts'
import type { IngestStep } from '../status/ingest-progress.ts'

async function ingest(world: CompletedNetwork) {
  await using node = await openNodeOfRun(world)
  const beacon = { urls: [node.url], fromEpoch: 0 }
  await using context = await openContext({
    validators: { networks: { hoodi: { epochsPerHour: 2, epochsPerDay: 8, beacon } } },
  })
  const settings = await withChainTimes({ ...context, clock: systemClock })
  const client = openBeacon({ network: 'hoodi', urls: [node.url], timeoutMs: 10_000, clock: systemClock, backoffMs: 1 })
  const steps: IngestStep[] = []
  await new Follower({ ...context, settings }, 'hoodi', client).catchUp(new AbortController().signal, (step) =>
    steps.push(step),
  )
  return {
    reported: steps.map((step) => step.unexplainedBalanceChanges),
    rows: await context.duties.all(
      'select epoch, validators, in_gwei, out_gwei from unexplained_balance_changes order by epoch',
    ),
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
  const changes = sums.filter((gwei) => gwei !== 0)
  const sum = (of: (gwei: number) => number) => changes.reduce((all, gwei) => all + of(gwei), 0)
  return {
    epoch,
    validators: changes.length,
    in_gwei: sum((gwei) => Math.max(0, gwei)),
    out_gwei: sum((gwei) => Math.max(0, 0 - gwei)),
  }
}

for (const [name, forkEpochs] of [
  ['since Electra', presentForks],
  ['before Electra', { altair: 0, bellatrix: 0, capella: 0, deneb: 0 }],
] as const) {
  test(`deposits and consolidations are stored by epoch and reported with the segment: ${name}`, async () => {
    const world = simulateNetwork(`moving/${name}`, {
      ...{ epochs: 16, outage: { from: 0, until: 0 }, slashing: 0, orphaned: 0, missed: 0.05, balanceChanges: 0.5 },
      ...{ forkEpochs, hasExecution: false },
    })
    const { rows, reported } = await ingest(world)
    const expected = Array.from({ length: world.finalized - 1 }, (_, epoch) => expectedChangesIn(world, epoch))
    const present = expected.filter(({ validators }) => validators > 0)
    assert(present.length > 3, `${present.length} epochs with changes`)
    assert.equal(
      present.some(({ out_gwei }) => out_gwei > 0),
      name === 'since Electra',
      'consolidations',
    )
    assert.deepEqual(rows, present)
    const sumOf = (numbers: readonly number[]) => numbers.reduce((sum, number) => sum + number, 0)
    assert.equal(sumOf(reported.map(({ inGwei }) => inGwei)), sumOf(present.map(({ in_gwei }) => in_gwei)))
  })
}
