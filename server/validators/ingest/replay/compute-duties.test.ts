import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Block } from '#sources/beacon/block.ts'
import { readRules } from '#sources/beacon/consensus.ts'
import { computeProposers } from '#sources/beacon/shuffle.ts'
import type { Validators } from '#sources/beacon/validators.ts'
import type { FullState } from './chain-replay.ts'
import { computeDuties } from './compute-duties.ts'

const forks = { ALTAIR_FORK_EPOCH: '0', ELECTRA_FORK_EPOCH: '0', FULU_FORK_EPOCH: '20' }
const rules = readRules({ ...forks, SLOTS_PER_EPOCH: '8', EPOCHS_PER_SYNC_COMMITTEE_PERIOD: '8' })

/** Validators of which every `step`-th has 2048 ETH. */
function validatorsOf(step: number): Validators {
  const count = 64
  return {
    count,
    increments: Uint32Array.from({ length: count }, (_, index) => (index % step === 0 ? 2048 : 32)),
    activation: new Float64Array(count),
    exit: new Float64Array(count).fill(Number.POSITIVE_INFINITY),
  } as Validators
}

const mixOf = (slot: number) => new Uint8Array(32).fill(slot)
const blockOf = (slot: number) => ({ slot, payload: { prevRandao: mixOf(slot) } }) as unknown as Block

const dutiesFrom = (epoch: number) => {
  const transition = {
    syncCommittees: { now: Uint32Array.of(1, 2), next: Uint32Array.of(3, 4) },
  }
  // The slots of epochs 16 to 24, of which the first three of each epoch are empty.
  const blocks = Array.from({ length: 72 }, (_, at) => 128 + at).filter((slot) => slot % 8 >= 3)
  return computeDuties(
    rules,
    { epoch, validators: validatorsOf(2), transition } as unknown as FullState,
    blocks.map(blockOf),
  )
}

test('proposers depend on the mix in the first block after the epoch before the previous one', () => {
  const now = validatorsOf(2)
  const expected = computeProposers(rules, 19, now, mixOf(18 * 8 + 3))
  assert.deepEqual(dutiesFrom(18).proposers(19, now, validatorsOf(3)), expected)
})

test('since Fulu, proposers are chosen with the effective balances of the previous epoch', () => {
  const [now, previous] = [validatorsOf(2), validatorsOf(3)]
  const duties = dutiesFrom(18)
  // In the first epoch of the fork, they are still chosen with those of the epoch itself.
  assert.deepEqual(duties.proposers(20, now, previous), computeProposers(rules, 20, now, mixOf(19 * 8 + 3)))
  const chosen = duties.proposers(21, now, previous)
  assert.deepEqual(chosen, computeProposers(rules, 21, previous, mixOf(20 * 8 + 3)))
  assert.notDeepEqual(chosen, computeProposers(rules, 21, now, mixOf(20 * 8 + 3)))
})

test('since Fulu, the state lists the proposers of the first epoch', () => {
  const lookahead = Int32Array.from({ length: 16 }, (_, at) => 100 + at)
  const validators = { ...validatorsOf(2), seeds: { mixes: { now: undefined, next: undefined }, lookahead } }
  const duties = dutiesFrom(22)
  assert.deepEqual(
    [...Array.from(duties.proposers(22, validators, undefined))],
    [100, 101, 102, 103, 104, 105, 106, 107],
  )
})

test('the sync committee changes with the period, and is known for two periods', () => {
  const duties = dutiesFrom(18)
  assert.deepEqual([duties.syncCommittee(23), duties.syncCommittee(24)], [Uint32Array.of(1, 2), Uint32Array.of(3, 4)])
  assert.throws(() => duties.syncCommittee(32), /epoch 32: its sync committee is not in the state of epoch 18/)
})

test('without a block that has the RANDAO mix, duties are unknown', () => {
  assert.throws(() => dutiesFrom(18).committees(27, validatorsOf(2)), /epoch 27: no block has the RANDAO mix/)
})
