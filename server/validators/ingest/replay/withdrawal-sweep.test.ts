// Which withdrawals a block deducts, with limits of four withdrawals, two partial ones and five swept validators.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { readRules } from '#sources/beacon/consensus.ts'
import type { Builder } from './replayed-builders.ts'
import { type SweptValidators, WithdrawalSweep } from './withdrawal-sweep.ts'

const rules = readRules({
  ...{ MAX_WITHDRAWALS_PER_PAYLOAD: '4', MAX_PENDING_PARTIALS_PER_WITHDRAWALS_SWEEP: '2' },
  ...{ MAX_VALIDATORS_PER_WITHDRAWALS_SWEEP: '5', MAX_BUILDERS_PER_WITHDRAWALS_SWEEP: '2' },
})
const eth = 10 ** 9
const never = Number.POSITIVE_INFINITY
const epoch = 50

interface Member {
  readonly balance: number
  readonly effective?: number
  readonly max?: number
  readonly hasAddress?: boolean
  readonly withdrawable?: number
  readonly isExiting?: boolean
}

const usual: Member = { balance: 32 * eth }

const validatorsOf = (members: readonly Member[]): SweptValidators => ({
  count: members.length,
  balance: (index) => members[index]?.balance ?? 0,
  effective: (index) => members[index]?.effective ?? 32 * eth,
  effectiveMax: (index) => members[index]?.max ?? 32 * eth,
  hasAddress: (index) => members[index]?.hasAddress ?? true,
  withdrawable: (index) => members[index]?.withdrawable ?? never,
  isExiting: (index) => members[index]?.isExiting ?? false,
})

const partialsOf = (...list: readonly (readonly [validator: number, gwei: number, epoch: number])[]) => {
  const bytes = Buffer.alloc(list.length * 24)
  for (const [at, values] of list.entries())
    for (const [field, value] of values.entries()) bytes.writeBigUInt64LE(BigInt(value), at * 24 + field * 8)
  return bytes
}

const sweepOf = (nextWithdrawalValidator = 0, partialWithdrawals = partialsOf(), nextWithdrawalBuilder = 0) =>
  new WithdrawalSweep(rules, { nextWithdrawalValidator, partialWithdrawals, nextWithdrawalBuilder })

const builderOf = (balance: number, withdrawable = never) => ({ balance, withdrawable }) as Builder
const noBuilders = { builders: [], queue: [] }

test('exited validators are paid out, others pay out what exceeds their maximum', () => {
  const members = [
    usual,
    { balance: 32 * eth + 7 },
    { balance: 5, withdrawable: epoch },
    { balance: 5, withdrawable: epoch + 1 },
    { balance: 40 * eth, effective: 39 * eth, max: 2048 * eth },
  ]
  assert.deepEqual(sweepOf().take(epoch, validatorsOf(members), noBuilders).withdrawals, [
    { validator: 1, amount: 7 },
    { validator: 2, amount: 5 },
  ])
})

test('nothing is paid without an address, without a balance, or below the maximum effective balance', () => {
  const members = [
    { balance: 33 * eth, hasAddress: false },
    { balance: 0, withdrawable: epoch },
    { balance: 33 * eth, effective: 31 * eth },
  ]
  assert.deepEqual(sweepOf().take(epoch, validatorsOf(members), noBuilders).withdrawals, [])
})

test('the sweep continues after the last withdrawal of a full block, otherwise after all swept validators', () => {
  const members = Array.from({ length: 12 }, (_, index) => (index < 6 ? { balance: 32 * eth + 1 } : usual))
  const sweep = sweepOf(10)
  const swept = () => sweep.take(epoch, validatorsOf(members), noBuilders).withdrawals.map(({ validator }) => validator)
  // Validators 10, 11, 0, 1 and 2; then 3 to 7, 8 to 0, and 1 to 5, of which four fit.
  assert.deepEqual([swept(), swept(), swept(), swept(), swept()], [[0, 1, 2], [3, 4, 5], [0], [1, 2, 3, 4], [5]])
})

test('queued partial withdrawals leave the minimum, and are skipped for validators that exit', () => {
  const partials = partialsOf([0, 3 * eth, 40], [1, 9 * eth, 40], [2, 9, 40], [3, 9, 40], [3, 9, 40])
  const compounding = { max: 2048 * eth, effective: 40 * eth }
  const members = [
    { ...compounding, balance: 40 * eth },
    { ...compounding, balance: 33 * eth, isExiting: true },
    { ...compounding, balance: 32 * eth },
    { ...compounding, balance: 32 * eth + 12 },
  ]
  const sweep = sweepOf(0, partials)
  const take = () => sweep.take(epoch, validatorsOf(members), noBuilders).withdrawals
  assert.deepEqual(take(), [
    { validator: 0, amount: 3 * eth },
    { validator: 3, amount: 9 },
  ])
  // The last one waited because of the limit.
  assert.deepEqual(take(), [{ validator: 3, amount: 9 }])
  assert.deepEqual(take(), [])
})

test('a second partial withdrawal of a validator in the same block gets what the first one leaves', () => {
  const members = [{ balance: 32 * eth + 10, max: 2048 * eth, effective: 32 * eth }]
  const { withdrawals } = sweepOf(0, partialsOf([0, 7, 40], [0, 7, 40])).take(epoch, validatorsOf(members), noBuilders)
  assert.deepEqual(withdrawals, [
    { validator: 0, amount: 7 },
    { validator: 0, amount: 3 },
  ])
})

test('a queued partial withdrawal of a later epoch stops the queue', () => {
  const members = [{ balance: 40 * eth, max: 2048 * eth, effective: 40 * eth }]
  const sweep = sweepOf(0, partialsOf([0, 1, epoch + 1], [0, 2, 40]))
  assert.deepEqual(sweep.take(epoch, validatorsOf(members), noBuilders).withdrawals, [])
  assert.equal(sweep.take(epoch + 1, validatorsOf(members), noBuilders).withdrawals.length, 2)
})

test('payments of builders come first, and one place is left for the sweep', () => {
  const queue = [1, 2, 3, 4].map((amount) => ({ builder: 0, amount }))
  const members = [{ balance: 32 * eth + 5 }, { balance: 32 * eth + 6 }]
  const partials = partialsOf([0, 1, 40])
  const { withdrawals, builderWithdrawals } = sweepOf(0, partials).take(epoch, validatorsOf(members), {
    builders: [builderOf(100)],
    queue,
  })
  assert.deepEqual(
    [builderWithdrawals.map(({ amount }) => amount), withdrawals],
    [[1, 2, 3], [{ validator: 0, amount: 5 }]],
  )
})

test('balances of exited builders are paid out in turn, a few builders per block', () => {
  const builders = [
    builderOf(9),
    builderOf(8, epoch),
    builderOf(0, epoch),
    builderOf(7, epoch),
    builderOf(6, epoch + 1),
  ]
  const sweep = sweepOf()
  const take = () => sweep.take(epoch, validatorsOf([usual]), { builders, queue: [] }).builderWithdrawals
  // Two builders per block: 0 and 1, 2 and 3, 4 and 0.
  assert.deepEqual([take(), take(), take()], [[{ builder: 1, amount: 8 }], [{ builder: 3, amount: 7 }], []])
})
