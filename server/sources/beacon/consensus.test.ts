// Tests of the consensus constants as a node lists them, and of the arithmetic on them.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import fc from 'fast-check'
import { forkAt, isqrt, readableUntil, readRules } from './consensus.ts'

describe('rules', () => {
  test('constants that a node omits have the values of mainnet', () => {
    const rules = readRules({})
    assert.deepEqual([rules.slotSeconds, rules.slotsPerEpoch, rules.syncCommitteeSize], [12, 32, 512])
  })

  test('listed constants replace those of mainnet, and a fork at FAR_FUTURE_EPOCH never starts', () => {
    const rules = readRules({ SLOTS_PER_EPOCH: '8', ALTAIR_FORK_EPOCH: '0', DENEB_FORK_EPOCH: '18446744073709551615' })
    assert.equal(rules.slotsPerEpoch, 8)
    assert.equal(rules.forkEpochs.deneb, Number.POSITIVE_INFINITY)
    assert.equal(forkAt(rules, 1_000_000), 'altair')
  })

  test('the earliest scheduled fork that is not supported is found', () => {
    const never = '18446744073709551615'
    assert.equal(
      readRules({ GLOAS_FORK_EPOCH: '9', HEZE_FORK_EPOCH: never, EIP7805_FORK_EPOCH: null }).unknownFork,
      undefined,
    )
    const rules = readRules({
      GLOAS_FORK_EPOCH: '9',
      LATER_FORK_EPOCH: '30',
      HEZE_FORK_EPOCH: '20',
      EIP7805_FORK_EPOCH: never,
    })
    assert.deepEqual(rules.unknownFork, { name: 'heze', epoch: 20 })
    assert.deepEqual([readableUntil(rules), readableUntil(readRules({}))], [18, Number.POSITIVE_INFINITY])
    assert.throws(() => readRules({ HEZE_FORK_EPOCH: 'soon' }), /HEZE_FORK_EPOCH/)
  })

  for (const [name, value] of [
    ['SLOTS_PER_EPOCH', '0'],
    ['SLOTS_PER_EPOCH', '18446744073709551615'],
    ['SECONDS_PER_SLOT', '-1'],
    ['BASE_REWARD_FACTOR', 64],
    ['SYNC_COMMITTEE_SIZE', '1e3'],
  ] as const) {
    test(`${name} ${JSON.stringify(value)} is rejected with an error that names it`, () => {
      assert.throws(() => readRules({ [name]: value }), new RegExp(name))
    })
  }
})

test('if two forks start at the same epoch, the later one applies', () => {
  const rules = readRules({ ALTAIR_FORK_EPOCH: '2', BELLATRIX_FORK_EPOCH: '5', CAPELLA_FORK_EPOCH: '5' })
  assert.deepEqual(
    [0, 2, 4, 5, 9].map((epoch) => forkAt(rules, epoch)),
    ['phase0', 'altair', 'altair', 'capella', 'capella'],
  )
})

test('isqrt is the largest integer whose square is not larger than the value', () => {
  fc.assert(
    fc.property(fc.bigInt({ min: 0n, max: 2n ** 64n - 1n }), (value) => {
      const root = isqrt(value)
      assert(root * root <= value && (root + 1n) * (root + 1n) > value)
    }),
  )
})
