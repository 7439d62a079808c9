// Builders: deposits, exits, payments by delivery and by votes, and withdrawals. Expected values follow from the text of
// the consensus specifications.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { Block } from '#sources/beacon/block.ts'
import { readRules } from '#sources/beacon/consensus.ts'
import type { PayloadState } from '#sources/beacon/payload-state.ts'
import { type OnboardedDeposit, onboardBuilders, quorumGwei, ReplayedBuilders } from './replayed-builders.ts'

const rules = readRules({
  ...{ SLOTS_PER_EPOCH: '8', MIN_BUILDER_WITHDRAWABILITY_DELAY: '3', MAX_WITHDRAWALS_PER_PAYLOAD: '4' },
  GLOAS_FORK_EPOCH: '0',
})
const far = 2n ** 64n - 1n
const epoch = 10
const first = epoch * 8

const keyOf = (value: number) => Buffer.alloc(48, value)
const hexKey = (value: number) => `0x${keyOf(value).toString('hex')}`
const addressOf = (value: number) => Buffer.alloc(20, value)

interface BuilderRecord {
  readonly key: number
  readonly balance: number
  readonly depositEpoch?: number
  readonly withdrawable?: bigint
}

function builderRecord({ key, balance, depositEpoch = 1, withdrawable = far }: BuilderRecord): Buffer {
  const record = Buffer.alloc(93)
  record.set(keyOf(key))
  record.set(addressOf(key), 49)
  record.writeBigUInt64LE(BigInt(balance), 69)
  record.writeBigUInt64LE(BigInt(depositEpoch), 77)
  record.writeBigUInt64LE(withdrawable, 85)
  return record
}

interface PaymentRecord {
  readonly slot: number
  readonly amount: number
  readonly builder: number
  readonly proposer: number
  readonly weight?: number
}

/** The state at the first slot of the epoch. */
function stateOf(builders: readonly BuilderRecord[], changes: StateChanges = {}): PayloadState {
  const { payments = [], queue = [], latest = {} } = changes
  const builderPayments = Buffer.alloc(16 * 52)
  for (const { slot, amount, builder, proposer, weight = 0 } of payments) {
    const at = (slot - (first - 8)) * 52
    for (const [offset, value] of [
      [0, weight] as const,
      [28, amount] as const,
      [36, builder] as const,
      [44, proposer] as const,
    ])
      builderPayments.writeBigUInt64LE(BigInt(value), at + offset)
  }
  const withdrawals = queue.map(([builder, amount]) => {
    const record = Buffer.alloc(36)
    record.writeBigUInt64LE(BigInt(amount), 20)
    record.writeBigUInt64LE(BigInt(builder), 28)
    return record
  })
  return {
    builders: Buffer.concat(builders.map(builderRecord)),
    builderPayments,
    builderWithdrawals: Buffer.concat(withdrawals),
    latestBid: { slot: first, blockHash: 'payload', value: 0, builder: undefined, feeRecipient: '', ...latest },
  } as unknown as PayloadState
}

interface StateChanges {
  readonly payments?: readonly PaymentRecord[]
  readonly queue?: readonly (readonly [builder: number, amount: number])[]
  readonly latest?: Partial<PayloadState['latestBid']>
}

function depositRequest(key: number, amount: number, prefix = 0xb0): Buffer {
  const record = Buffer.alloc(184)
  record.set(keyOf(key))
  record[48] = prefix
  record.set(addressOf(key), 60)
  record.writeBigUInt64LE(BigInt(amount), 80)
  return record
}

const exitRequest = (key: number, sender = key) => Buffer.concat([addressOf(sender), keyOf(key)])

const blockOf = (slot: number, changes: Partial<Block> = {}): Block =>
  ({ slot, proposer: 5, proposerSlashings: [], slashedSlots: [], ...changes }) as unknown as Block

const withRequests = (slot: number, deposits: readonly Buffer[], exits: readonly Buffer[] = []): Block =>
  blockOf(slot, {
    requests: {
      ...{ deposits: Buffer.alloc(0), withdrawals: Buffer.alloc(0), consolidations: Buffer.alloc(0) },
      ...{ builderDeposits: Buffer.concat(deposits), builderExits: Buffer.concat(exits) },
    },
  })

const withBid = (slot: number, value: number, builder: number | undefined, more: Partial<Block> = {}): Block =>
  blockOf(slot, { bid: { slot, value, builder, blockHash: `payload ${slot}` } as Block['bid'], ...more })

const open = (state: PayloadState, later: PayloadState = state) => new ReplayedBuilders(rules, state, epoch, later)
const balancesOf = ({ builders }: ReplayedBuilders) => builders.map(({ balance }) => balance)

describe('deposits', () => {
  test('a deposit adds to a known builder, whatever its signature, and creates one that a later state has', () => {
    const later = stateOf([
      { key: 1, balance: 0 },
      { key: 2, balance: 0 },
    ])
    const replay = open(stateOf([{ key: 1, balance: 10 }]), later)
    const deposits = [depositRequest(1, 5), depositRequest(2, 7), depositRequest(3, 9), depositRequest(2, 1)]
    replay.applyParentPayload(withRequests(first + 2, deposits), 5)
    assert.deepEqual(balancesOf(replay), [15, 8])
    assert.deepEqual([replay.builders[1]?.pubkey, replay.builders[1]?.depositEpoch], [hexKey(2), epoch])
  })

  test('other credentials are ignored', () => {
    const replay = open(stateOf([{ key: 1, balance: 10 }]))
    replay.applyParentPayload(withRequests(first + 2, [depositRequest(1, 5, 1)]), 5)
    assert.deepEqual(balancesOf(replay), [10])
  })

  test('a new builder takes the index of one that exited and was paid out', () => {
    const later = stateOf([
      { key: 3, balance: 0 },
      { key: 2, balance: 0 },
    ])
    const exited = { key: 1, balance: 0, withdrawable: BigInt(epoch) }
    const replay = open(stateOf([exited, { key: 2, balance: 4 }]), later)
    replay.applyParentPayload(withRequests(first + 2, [depositRequest(3, 9)]), 5)
    assert.deepEqual(
      [replay.builders.map(({ pubkey }) => pubkey), balancesOf(replay)],
      [
        [hexKey(3), hexKey(2)],
        [9, 4],
      ],
    )
  })

  test('a deposit for a builder that exited and was paid out is paid out after the same delay', () => {
    const replay = open(stateOf([{ key: 1, balance: 0, withdrawable: 7n }]))
    replay.applyParentPayload(withRequests(first + 2, [depositRequest(1, 9)]), 5)
    assert.deepEqual([replay.builders[0]?.withdrawable, replay.builders[0]?.balance], [epoch + 3, 9])
    // One that was not paid out yet keeps its epoch.
    const unpaid = open(stateOf([{ key: 1, balance: 2, withdrawable: 12n }]))
    unpaid.applyParentPayload(withRequests(first + 2, [depositRequest(1, 9)]), 5)
    assert.deepEqual([unpaid.builders[0]?.withdrawable, unpaid.builders[0]?.balance], [12, 11])
  })

  test('the first deposits of a new builder may have been dropped because of their signatures', () => {
    const node = stateOf([{ key: 2, balance: 8 }], { latest: { blockHash: 'payload' } })
    const replay = open(stateOf([]), node)
    const deposits = [depositRequest(2, 100), depositRequest(2, 7), depositRequest(2, 1)]
    replay.applyParentPayload(withRequests(first + 2, deposits), 5)
    assert.deepEqual(balancesOf(replay), [108])
    assert.deepEqual(replay.differences(node, epoch), [])
  })
})

describe('exits', () => {
  const builder = { key: 1, balance: 10, depositEpoch: 4 }
  const withdrawableAfter = (state: PayloadState, exit: Buffer, finalizedEpoch = 5) => {
    const replay = open(state)
    replay.applyParentPayload(withRequests(first + 2, [], [exit]), finalizedEpoch)
    return replay.builders[0]?.withdrawable
  }

  test('an active builder exits at the request of its address', () => {
    assert.equal(withdrawableAfter(stateOf([builder]), exitRequest(1)), epoch + 3)
  })

  const never = Number.POSITIVE_INFINITY
  const refused: readonly (readonly [string, PayloadState, Buffer, number?])[] = [
    ['of another address', stateOf([builder]), exitRequest(1, 9)],
    ['of an unknown key', stateOf([builder]), exitRequest(7)],
    ['before the deposit is final', stateOf([builder]), exitRequest(1), 4],
    [
      'while a payment is pending',
      stateOf([builder], { payments: [{ slot: first, amount: 1, builder: 0, proposer: 5 }] }),
      exitRequest(1),
    ],
    ['while a payment waits for its withdrawal', stateOf([builder], { queue: [[0, 1]] }), exitRequest(1)],
  ]
  for (const [label, state, exit, finalizedEpoch] of refused)
    test(`a request ${label} is refused`, () => assert.equal(withdrawableAfter(state, exit, finalizedEpoch), never))

  test('a builder that is exiting keeps its epoch', () => {
    assert.equal(withdrawableAfter(stateOf([{ ...builder, withdrawable: 12n }]), exitRequest(1)), 12)
  })
})

describe('payments', () => {
  const builders = [{ key: 1, balance: 100 }]
  const voters = (slot: number, increments: number) => [new Map([[slot, increments]])]
  // Ten increments in each of the eight slots.
  const active = 80
  const quorum = 6

  test('the quorum is 60 % of the stake of a slot, rounded down', () => {
    assert.equal(quorumGwei(rules, active), BigInt(quorum) * 10n ** 9n)
    assert.equal(quorumGwei({ ...rules, increment: 1 }, 83), 6n)
    assert.equal(quorumGwei({ ...rules, increment: 1 }, 79), 5n)
  })

  test('a delivered payload is paid with the next block', () => {
    const replay = open(stateOf(builders))
    replay.applyBlock(withBid(first + 1, 30, 0), [])
    assert.deepEqual(replay.queue, [])
    replay.applyParentPayload(blockOf(first + 2), 5)
    assert.deepEqual(replay.queue, [{ builder: 0, amount: 30 }])
    replay.applyBlock(withBid(first + 2, 0, undefined), [])
    replay.endEpoch(epoch, active)
    replay.endEpoch(epoch + 1, active)
    assert.equal(replay.queue.length, 1, 'it is paid once')
  })

  for (const [votes, isPaid] of [
    [quorum, true],
    [quorum - 1, false],
  ] as const) {
    test(`a withheld payload is ${isPaid ? '' : 'not '}paid at the end of the next epoch with ${votes} of 10 votes`, () => {
      const replay = open(stateOf(builders))
      replay.applyBlock(withBid(first + 1, 30, 0), [])
      replay.applyBlock(withBid(first + 2, 0, undefined), voters(first + 1, votes - 1))
      replay.endEpoch(epoch, active)
      assert.deepEqual(replay.queue, [])
      replay.applyBlock(withBid(first + 9, 0, undefined), voters(first + 1, 1))
      replay.endEpoch(epoch + 1, active)
      assert.deepEqual(replay.queue, isPaid ? [{ builder: 0, amount: 30 }] : [])
    })
  }

  test('votes that a state already counted are not lost', () => {
    const payments = [{ slot: first - 3, amount: 30, builder: 0, proposer: 5, weight: 5 * 10 ** 9 }]
    const replay = open(stateOf(builders, { payments }))
    replay.applyBlock(withBid(first + 1, 0, undefined), voters(first - 3, 1))
    replay.endEpoch(epoch, active)
    assert.deepEqual(replay.queue, [{ builder: 0, amount: 30 }])
  })

  test('a slashing of the proposer for that block drops the payment, one for another block does not', () => {
    for (const [slashing, isPaid] of [
      [{ proposerSlashings: [5], slashedSlots: [first + 1] }, false],
      [{ proposerSlashings: [5], slashedSlots: [first + 2] }, true],
      [{ proposerSlashings: [6], slashedSlots: [first + 1] }, true],
    ] as const) {
      const replay = open(stateOf(builders))
      replay.applyBlock(withBid(first + 1, 30, 0), [])
      replay.applyBlock(withBid(first + 3, 0, undefined, slashing), voters(first + 1, 10))
      replay.endEpoch(epoch, active)
      replay.endEpoch(epoch + 1, active)
      assert.equal(replay.queue.length, isPaid ? 1 : 0)
    }
  })

  test('a payload that is older than the previous epoch is paid although its payment is not kept', () => {
    const latest = { slot: first - 20, value: 30, builder: 0 }
    const replay = open(stateOf(builders, { latest }))
    replay.applyParentPayload(blockOf(first + 1), 5)
    assert.deepEqual(replay.queue, [{ builder: 0, amount: 30 }])
  })
})

describe('withdrawals', () => {
  test('a block takes one payment less than the limit of withdrawals, and balances do not fall below zero', () => {
    const queue = [1, 2, 3, 4, 5].map((amount) => [0, amount] as const)
    const replay = open(stateOf([{ key: 1, balance: 5 }], { queue }))
    replay.withdraw(replay.queue.slice(0, 3))
    assert.deepEqual([balancesOf(replay), replay.queue.map(({ amount }) => amount)], [[0], [4, 5]])
  })
})

describe('differences', () => {
  const payments = [{ slot: first + 1, amount: 30, builder: 0, proposer: 5 }]
  const state = stateOf([{ key: 1, balance: 10 }], { payments, queue: [[0, 3]] })

  test('the same state has none', () => assert.deepEqual(open(state).differences(state, epoch), []))

  for (const [label, node] of [
    ['builder 0 has', stateOf([{ key: 1, balance: 11 }], { payments, queue: [[0, 3]] })],
    ['builder 0 has', stateOf([{ key: 2, balance: 10 }], { payments, queue: [[0, 3]] })],
    [
      'builder 1 has',
      stateOf(
        [
          { key: 1, balance: 10 },
          { key: 2, balance: 1 },
        ],
        { payments, queue: [[0, 3]] },
      ),
    ],
    ['the queue of payments', stateOf([{ key: 1, balance: 10 }], { payments, queue: [[0, 4]] })],
    ['the pending payments', stateOf([{ key: 1, balance: 10 }], { queue: [[0, 3]] })],
  ] as const) {
    test(`${label} … differs`, () => {
      const [difference = ''] = open(state).differences(node, epoch)
      assert(difference.startsWith(label), difference)
    })
  }
})

describe('when the fork begins', () => {
  const deposit = (key: number, gwei: number, prefix = 0xb0, slot = 33): OnboardedDeposit => {
    const bytes = Buffer.alloc(192)
    bytes.set(keyOf(key))
    bytes[48] = prefix
    return { pubkey: hexKey(key), gwei, slot, bytes }
  }
  const onboard = (removed: readonly OnboardedDeposit[], node: PayloadState) => {
    const replay = new ReplayedBuilders(rules, undefined, epoch, node)
    onboardBuilders(rules, replay, removed, node)
    return replay
  }

  test('queued deposits with the credentials of builders become builders, further ones add to them', () => {
    const node = stateOf([
      { key: 1, balance: 7, depositEpoch: 4 },
      { key: 2, balance: 3, depositEpoch: 4 },
    ])
    const replay = onboard([deposit(1, 5), deposit(2, 3), deposit(1, 2, 1)], node)
    assert.deepEqual(replay.differences(node, epoch), [])
    assert.deepEqual(
      replay.builders.map(({ depositEpoch }) => depositEpoch),
      [4, 4],
    )
  })

  test('a deposit with an invalid signature is dropped, and a later one may create the builder', () => {
    const node = stateOf([
      { key: 2, balance: 3 },
      { key: 1, balance: 9 },
    ])
    const removed = [deposit(1, 5), deposit(3, 8), deposit(2, 3), deposit(1, 7), deposit(1, 2)]
    assert.deepEqual(onboard(removed, node).differences(node, epoch), [])
  })

  test('the first block builds on the payload of its parent, whose requests are part of that block', () => {
    const replay = new ReplayedBuilders(rules, undefined, epoch, undefined)
    assert(replay.buildsOnPayload(withBid(first, 0, undefined)))
  })
})
