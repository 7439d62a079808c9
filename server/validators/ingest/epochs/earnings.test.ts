// Earnings if a deposit is not known, because the node has neither pending queues nor the state of an empty slot.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Block } from '#sources/beacon/block.ts'
import { readRules } from '#sources/beacon/consensus.ts'
import { type Validators, validatorsFromJson } from '#sources/beacon/validators.ts'
import type { BlockEffects } from '../rules/block-effects.ts'
import { computeEarnings } from './earnings.ts'

const rules = readRules({ SLOTS_PER_EPOCH: '8', ELECTRA_FORK_EPOCH: '0' })
const eth = 1_000_000_000
const epoch = 5
const far = '18446744073709551615'

const stateWith = (gwei: number, withdrawable: string): Validators =>
  validatorsFromJson(
    [
      {
        ...{ index: '0', balance: String(gwei) },
        validator: {
          ...{ pubkey: `0x${'b'.repeat(96)}`, withdrawal_credentials: `0x01${'0'.repeat(62)}`, slashed: false },
          ...{ effective_balance: String(32 * eth), activation_eligibility_epoch: '0', activation_epoch: '0' },
          ...{ exit_epoch: withdrawable, withdrawable_epoch: withdrawable },
        },
      },
    ],
    rules.increment,
  )

/** The balance before, a withdrawal in the epoch, and then a missed sync signature of 7 gwei. */
function earningsOf(before: number, withdrawn: number, after: number, withdrawable = far) {
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
  const [atStart, atEnd] = [stateWith(before, withdrawable), stateWith(after, withdrawable)]
  const found = computeEarnings(rules, { epoch, atStart, atEnd, blocks: [block] }, undefined, [effects], new Map())
  return [found.earned[0], found.transfers.deposited.get(0)]
}

test('a penalty after the withdrawal of an unknown deposit is not cut off', () => {
  // Without the deposit of 32 ETH, the balance would be 0 after the withdrawal.
  assert.deepEqual(earningsOf(32 * eth + 5, 32 * eth + 5, 32 * eth - 7), [-7, 32 * eth])
  assert.deepEqual(earningsOf(32 * eth + 5, 32 * eth, 32 * eth - 2), [-7, 32 * eth])
  assert.deepEqual(earningsOf(32 * eth + 5, 40 * eth + 5, 32 * eth - 7), [-7, 40 * eth])
})

test('a penalty takes nothing after the withdrawal of the whole balance', () => {
  assert.deepEqual(earningsOf(32 * eth + 5, 32 * eth + 5, 0, String(epoch)), [0, undefined])
})
