// A network with the constants of mainnet is read and verified, and a state of mainnet's size is read within the limits.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { systemClock } from '#runtime/clock.ts'
import { openBeacon } from '#sources/beacon/client.ts'
import { readRules } from '#sources/beacon/consensus.ts'
import { builderPaymentSize, builderSize, partialWithdrawalSize, withdrawalSize } from '#sources/beacon/gloas.ts'
import { payloadCommitteeOf } from '#sources/beacon/payload-state.ts'
import { consolidationSize, depositSize } from '#sources/beacon/pending.ts'
import { View } from '#sources/beacon/ssz.ts'
import { stateFromSsz } from '#sources/beacon/validators.ts'
import { missedKinds, payloadFlags } from '#validators/duties/missed.ts'
import { createEpochProcessor } from '#validators/ingest/epochs/epoch-processor.ts'
import { stateBytesMax } from '#validators/ingest/read/beacon-queries.ts'
import { LargeNetwork } from './large-network.ts'
import { openLargeNode } from './large-node.ts'
import { type LargePlan, mainnetPlan, specOf } from './large-plan.ts'
import { makeState, makeValidators } from './large-states.ts'

const from = 9
/** The epoch before them and the one after them are read and verified too. */
const epochs = 1

/** Everything but the validators is as on mainnet. */
const smaller: LargePlan = { ...mainnetPlan, fork: 'gloas', count: 16_384, ether: 2048 }
const variants: Readonly<Record<string, LargePlan>> = {
  'with envelopes': smaller,
  'without envelopes': { ...smaller, prunesEnvelopes: true },
}

async function processEpochs(plan: LargePlan) {
  await using node = await openLargeNode(new LargeNetwork(plan, from - 1), 1_606_824_023)
  node.finalize(from + epochs + 1)
  const beacon = openBeacon({ network: 'mainnet', urls: [node.url], timeoutMs: 60_000, clock: systemClock })
  const request = { from, until: from + epochs, scores: new Map() }
  return await createEpochProcessor(beacon).processSegment(request, new AbortController().signal)
}

for (const [name, plan] of Object.entries(variants)) {
  test(`a Gloas network of mainnet's constants is read and verified ${name}`, async () => {
    const { validator, sums, missed, unexplained } = await processEpochs(plan)
    assert.equal(validator.length, plan.count)
    assert.ok(sums.assigned.every((assigned) => assigned === epochs))
    assert.deepEqual(unexplained, [])
    const proposals = [...missed.kind.keys()].filter((at) => missedKinds[missed.kind[at] as number] === 'proposal')
    assert.equal(proposals.length, epochs * plan.slotsPerEpoch)
    const withheld = proposals.filter((at) => (missed.payload[at] as number) & payloadFlags.empty)
    assert.equal(withheld.length, epochs)
    assert.ok(withheld.every((at) => missed.builder[at] !== 0 && (missed.payload[at] as number) & payloadFlags.paid))
  })
}

test('a Gloas state of a million validators is read, and one of two million fits into the limit', () => {
  const plan: LargePlan = { ...mainnetPlan, fork: 'gloas' }
  const rules = readRules(specOf(plan))
  const { slotsPerEpoch, payloadCommitteeSize } = rules
  const member = (at: number, seat: number) => (at * 10_007 + seat) % plan.count
  const records = makeValidators(plan)
  const bytes = makeState(plan, rules, {
    epoch: from,
    validators: records,
    balances: Buffer.from(BigUint64Array.from({ length: plan.count }, (_, index) => BigInt(index)).buffer),
    parentRoot: `0x${'33'.repeat(32)}`,
    lookahead: Array.from({ length: 2 * slotsPerEpoch }, (_, at) => plan.count - 1 - at),
    payloadCommittees: Array.from({ length: 3 * slotsPerEpoch }, (_, at) =>
      Array.from({ length: payloadCommitteeSize }, (_, seat) => member(at, seat)),
    ),
    builderBalances: Array.from({ length: plan.builders }, (_, index) => BigInt(index)),
  })
  const bytesPerValidator = records.length / plan.count + 8 + 2 + 8
  assert.ok(bytes.length + plan.count * bytesPerValidator < stateBytesMax)
  const { validators, slot } = stateFromSsz(new View(bytes), rules)
  const { payloads, pending } = validators
  assert.ok(payloads && pending)
  assert.deepEqual([slot, validators.count], [from * slotsPerEpoch, plan.count])
  for (const index of [0, 1, plan.count - 1]) {
    assert.equal(validators.balance[index], index)
    assert.equal(Buffer.from(validators.pubkeys.buffer).readUInt32LE(index * 48), index)
  }
  assert.equal(pending.deposits.length, plan.pendingDeposits * depositSize)
  assert.equal(pending.consolidations.length, plan.consolidations * consolidationSize)
  assert.equal(payloads.partialWithdrawals.length, plan.partialWithdrawals * partialWithdrawalSize)
  assert.equal(payloads.builders.length, plan.builders * builderSize)
  assert.equal(new View(payloads.builders).u64((plan.builders - 1) * builderSize + 69), plan.builders - 1)
  assert.equal(payloads.builderPayments.length, 2 * slotsPerEpoch * builderPaymentSize)
  assert.equal(payloads.expectedWithdrawals.length, rules.blockLimits.withdrawals * withdrawalSize)
  for (const at of [0, slotsPerEpoch, 3 * slotsPerEpoch - 1]) {
    const committee = payloadCommitteeOf(payloads, rules, from, (from - 1) * slotsPerEpoch + at)
    assert.deepEqual([committee?.at(0), committee?.at(-1)], [member(at, 0), member(at, payloadCommitteeSize - 1)])
  }
})
