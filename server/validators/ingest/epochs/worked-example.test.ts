// The worked example of docs/methodology.md: the amounts follow from the reward formulas.
import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { test } from 'node:test'
import { readRules } from '#sources/beacon/consensus.ts'
import { emptyPendingQueues } from '#sources/beacon/pending.ts'
import type { Validators } from '#sources/beacon/validators.ts'
import type { Measure } from '../../method/measures.ts'
import { computeStake } from '../rules/stake.ts'
import { computeVoteRewards } from '../rules/vote-rewards.ts'
import { flag, type Votes } from '../rules/votes.ts'
import { addVotes } from './process-epoch.ts'
import { Sums } from './sums.ts'

const page = await readFile(new URL('../../../../docs/methodology.md', import.meta.url), 'utf8')

/** The measures of the example: by name, those of A and B. */
const example = new Map(
  [...page.matchAll(/^\| `(\w+)` \| (-?\d+) \| (-?\d+) \|$/gm)].map(([, name, a, b]) => [name, [Number(a), Number(b)]]),
)

interface Vote {
  readonly delay: number
  readonly right: number
  readonly timely: number
}
const { source, target, head } = flag
const all = source | target | head
/** What A does, and how often; B and the rest of the network always vote as in the last line. */
const votesOfA: readonly (readonly [count: number, vote: Vote])[] = [
  [5, { delay: 0, right: 0, timely: 0 }],
  [1, { delay: 6, right: all, timely: target }],
  [17, { delay: 2, right: all, timely: source | target }],
  [2, { delay: 1, right: source, timely: source }],
  [9, { delay: 1, right: source | target, timely: source | target }],
  [191, { delay: 1, right: all, timely: all }],
]
const perfect: Vote = { delay: 1, right: all, timely: all }

/** A, B, and one validator with the stake of all others. */
const increments = [32, 32, 35_000_000 - 64]
const column = (value: number) => new Float64Array(increments.length).fill(value)
const validators: Validators = {
  count: increments.length,
  pubkeys: new Uint8Array(48 * increments.length),
  credentials: new Uint8Array(32 * increments.length),
  balance: column(32e9),
  increments: Uint32Array.from(increments),
  slashed: new Uint8Array(increments.length),
  eligible: column(0),
  activation: column(0),
  exit: column(Number.POSITIVE_INFINITY),
  withdrawable: column(Number.POSITIVE_INFINITY),
  pending: emptyPendingQueues,
  scores: column(0),
}

test('votes and their rewards in the worked example are those of the consensus rules', () => {
  const rules = readRules({ ALTAIR_FORK_EPOCH: '0', BELLATRIX_FORK_EPOCH: '0', DENEB_FORK_EPOCH: '0' })
  const sums = new Sums()
  sums.ensureCapacity(validators.count)
  const votes = votesOfA.flatMap(([count, vote]) => Array.from({ length: count }, () => vote))
  assert.equal(votes.length, 225)
  for (const [at, vote] of votes.entries()) {
    const epoch = at + 100
    const cast = [vote, perfect, perfect]
    const tally: Votes = {
      epoch,
      dutySlot: new Int32Array(cast.length).fill(epoch * 32),
      inclusions: Uint16Array.from(cast, ({ delay }) => Math.min(delay, 1)),
      delay: Uint16Array.from(cast, ({ delay }) => delay),
      right: Uint8Array.from(cast, ({ right }) => right),
      timely: Uint8Array.from(cast, ({ timely }) => timely),
      proposerGwei: new Map(),
      sameSlot: new Map(),
    }
    const { voteRewards } = computeVoteRewards(rules, tally, {
      stake: computeStake(rules, epoch + 1, validators),
      isSlashed: new Uint8Array(cast.length),
      finalizedEpoch: epoch - 1,
      scores: new Map(),
    })
    addVotes(sums, tally, voteRewards)
  }
  const { sums: computed } = sums.take()
  // Repeated inclusions, blocks and execution rewards are given.
  const given = [
    'inclusions',
    'proposer_duties',
    'proposed',
    'proposed_empty',
    'block_reward',
    'priority_fee',
    'baseline_mev',
  ]
  const names = [...example.keys()].filter((name) => !given.includes(name ?? '') && name !== 'earnings') as Measure[]
  assert.equal(names.length, 12)
  for (const name of names) assert.deepEqual([...computed[name].slice(0, 2)], example.get(name), name)
})

test('earnings in the worked example are rewards and penalties', () => {
  const paid = [
    'attestation_reward',
    'block_reward',
    'late_source_penalty',
    'wrong_target_penalty',
    'missed_attestation_penalty',
  ]
  for (const column of [0, 1])
    assert.equal(
      example.get('earnings')?.[column],
      paid.reduce((sum, name) => sum + (example.get(name)?.[column] as number), 0),
    )
})
