// What became of the payloads of an epoch, and whether builders pay.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Block } from '#sources/beacon/block.ts'
import { readRules } from '#sources/beacon/consensus.ts'
import type { Stake } from '../rules/stake.ts'
import type { Votes } from '../rules/votes.ts'
import { findProposals, isEmptyBlock, type Proposal } from './proposals.ts'

const rules = readRules({ SLOTS_PER_EPOCH: '8', FULU_FORK_EPOCH: '0', GLOAS_FORK_EPOCH: '0' })
const epoch = 3

interface BlockPlan {
  readonly slot: number
  readonly builder?: number
  readonly value?: number
  /** Whether the block builds on the payload of the block before it. */
  readonly onPayload?: boolean
  /** Slashings that the block contains: proposer and slot. */
  readonly slashes?: readonly (readonly [proposer: number, slot: number])[]
}

function chainOf(...plans: readonly BlockPlan[]): Block[] {
  return plans.map(({ slot, builder, value = 0, onPayload = false, slashes = [] }, at) => ({
    ...{ slot, proposer: slot + 100 },
    bid: {
      ...{ builder, value, executionPayment: 7, blockHash: `payload ${slot}` },
      parentBlockHash: onPayload ? `payload ${plans[at - 1]?.slot}` : 'earlier',
    },
    proposerSlashings: slashes.map(([proposer]) => proposer),
    slashedSlots: slashes.map(([, slashedSlot]) => slashedSlot),
  })) as unknown as Block[]
}

/** A slot has 256 of 2048 increments, so 153.6 of them are needed. */
const stake = { activeIncrements: 2048 } as Stake
const enough = 154

/** `voted`: by including block, and slot. */
const proposalsOf = (blocks: readonly Block[], voted: readonly (readonly [block: number, number, number])[] = []) => {
  const sameSlot = new Map<number, Map<number, number>>()
  for (const [block, slot, increments] of voted)
    sameSlot.getOrInsertComputed(block, () => new Map()).set(slot, increments)
  return findProposals(rules, { epoch, blocks }, { sameSlot } as unknown as Votes, stake)
}

const withheld = { slot: 24, builder: 2, value: 5000 }

test('each block of the epoch has its builder, its bid, and what became of its payload', () => {
  const chain = chainOf({ slot: 24, builder: 2, value: 5000 }, { slot: 25, onPayload: true }, { slot: 33 })
  assert.deepEqual(proposalsOf(chain), [
    {
      ...{ slot: 24, proposer: 124, payload: 'full', builder: 2, valueGwei: 5000 },
      ...{ executionPaymentGwei: 7, isPaid: true },
    },
    {
      ...{ slot: 25, proposer: 125, payload: 'empty', builder: undefined, valueGwei: 0 },
      ...{ executionPaymentGwei: 7, isPaid: undefined },
    },
  ])
})

test('a builder that delivers pays, however few validators voted', () => {
  const [proposal] = proposalsOf(chainOf(withheld, { slot: 26, onPayload: true }))
  assert.deepEqual([proposal?.payload, proposal?.isPaid], ['full', true])
})

test('a builder that withholds its payload pays if 60 % of the stake of a slot voted for the block in its slot', () => {
  const chain = chainOf(withheld, { slot: 25 }, { slot: 26 })
  const isPaid = (...voted: Parameters<typeof proposalsOf>[1] & object) => proposalsOf(chain, voted)[0]?.isPaid
  assert.equal(isPaid(), false)
  assert.equal(isPaid([25, 24, enough - 1]), false)
  assert.equal(isPaid([25, 24, enough]), true)
  assert.equal(isPaid([25, 24, 100], [26, 24, enough - 100]), true, 'votes of several blocks count together')
  assert.equal(isPaid([25, 24, 100], [26, 25, enough - 100]), false, 'votes of another slot do not count')
})

test('a proposer that is slashed for its block is not paid for a withheld payload', () => {
  const isPaid = (...slashes: readonly (readonly [number, number])[]) =>
    proposalsOf(chainOf(withheld, { slot: 33, slashes }), [[33, 24, enough]])[0]?.isPaid
  assert.equal(isPaid([124, 24]), false)
  assert.equal(isPaid([124, 17]), true, 'it was slashed for another block')
  assert.equal(isPaid([125, 24]), true, 'another validator was slashed')
})

test('nothing is to be paid for a self-built payload or a bid of zero, and a payload without a child is open', () => {
  const chain = chainOf({ slot: 24, value: 0 }, { slot: 25, builder: 1, value: 0 }, { slot: 26, builder: 1, value: 9 })
  assert.deepEqual(
    proposalsOf(chain, [[26, 25, enough]]).map(({ payload, isPaid }) => [payload, isPaid]),
    [
      ['empty', undefined],
      ['empty', undefined],
      ['unknown', undefined],
    ],
  )
})

test('a block is empty if it has no transactions; since Gloas, if its proposer built the payload and it is missing', () => {
  const block = (transactions?: number) =>
    (transactions === undefined ? {} : { payload: { transactions } }) as unknown as Block
  const proposal = (payload: Proposal['payload'], builder?: number): Proposal => ({
    ...{ slot: 24, proposer: 124, valueGwei: 0 },
    payload,
    builder,
  })
  assert.deepEqual(
    [isEmptyBlock(block(0), undefined), isEmptyBlock(block(1), undefined), isEmptyBlock(block(), undefined)],
    [true, false, false],
  )
  const sinceGloas = [proposal('empty'), proposal('empty', 2), proposal('full'), proposal('unknown')]
  assert.deepEqual(
    sinceGloas.map((known) => isEmptyBlock(block(), known)),
    [true, false, false, false],
  )
})
