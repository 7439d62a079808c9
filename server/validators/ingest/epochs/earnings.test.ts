// Earnings of a validator whose balance is withdrawn: penalties never take more than what is left.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Block } from '#sources/beacon/block.ts'
import { readRules } from '#sources/beacon/consensus.ts'
import { emptyPendingQueues } from '#sources/beacon/pending.ts'
import type { Validators } from '#sources/beacon/validators.ts'
import type { BlockEffects } from '../rules/block-effects.ts'
import { computeEarnings } from './earnings.ts'

const rules = readRules({ SLOTS_PER_EPOCH: '8', ELECTRA_FORK_EPOCH: '0' })
const eth = 1_000_000_000
const epoch = 5

const stateWith = (gwei: number): Validators => ({
  count: 1,
  pubkeys: Buffer.alloc(48, 0xbb),
  credentials: Buffer.alloc(32, 1),
  balance: Float64Array.of(gwei),
  increments: Uint32Array.of(32),
  slashed: Uint8Array.of(0),
  eligible: Float64Array.of(0),
  activation: Float64Array.of(0),
  exit: Float64Array.of(epoch),
  withdrawable: Float64Array.of(epoch),
  pending: emptyPendingQueues,
  scores: Float64Array.of(0),
})

/** The balance before, a withdrawal in the epoch, and then a missed sync signature of 7 gwei. */
function earningsOf(before: number, withdrawn: number, after: number) {
  const slot = epoch * 8 + 3
  const block: Block = {
    ...{ fork: 'fulu', slot, proposer: 9, root: '0x01', parentRoot: '0x00', attestations: [] },
    ...{ syncBits: new Uint8Array(), proposerSlashings: [], attesterSlashings: [], deposits: [], exits: [] },
    credentialsChanges: [],
    payload: {
      ...{ number: 1, hash: '0x02', feeRecipient: '0x03', baseFeeWei: 0n, transactions: 0, lastTransactions: [] },
      ...{ prevRandao: new Uint8Array(32), withdrawals: [{ validator: 0, amount: withdrawn }] },
    },
  }
  const effects: BlockEffects = {
    ...{ slot, proposer: 9, votes: 0, sync: 0, slashings: 0, slashed: [], syncSeat: 7 },
    seats: [{ validator: 0, signed: false, gwei: -7 }],
  }
  const [atStart, atEnd] = [stateWith(before), stateWith(after)]
  const found = computeEarnings(rules, { epoch, atStart, atEnd, blocks: [block] }, undefined, [effects], new Map())
  const { earned, transfers, unexplained } = found
  return [earned[0], transfers.withdrawn.get(0), transfers.deposited.get(0), unexplained.get(0)]
}

test('a penalty takes nothing after the withdrawal of the whole balance, and no more than what is left', () => {
  assert.deepEqual(earningsOf(32 * eth + 5, 32 * eth + 5, 0), [0, 32 * eth + 5, undefined, undefined])
  assert.deepEqual(earningsOf(32 * eth + 5, 32 * eth, 0), [-5, 32 * eth, undefined, undefined])
  assert.deepEqual(earningsOf(32 * eth + 5, 5, 32 * eth - 7), [-7, 5, undefined, undefined])
})

test('what no rule explains counts as deposited, and is reported', () => {
  const left = 32 * eth
  assert.deepEqual(earningsOf(32 * eth + 5, 32 * eth + 5, left), [0, 32 * eth + 5, left, left])
  assert.deepEqual(earningsOf(32 * eth, 0, 32 * eth - 8), [-7, 0, -1, -1])
})
