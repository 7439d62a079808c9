// One finalized epoch: from what was read to every validator's measures (docs/methodology.md).
//
// 1. Blocks of this epoch and the next tell its votes. What the votes brought the proposers of the next epoch is carried on.
// 2. Votes are paid at the end of the next epoch, but belong to the epoch in which they were due.
// 3. Earnings are what the balance gained from the epoch's first state to the next epoch's first state. A state lies behind
//    the block of its slot, so an epoch's first block counts for the epoch before (decision 0104).
// 4. Epochs are refined in order. The first one is preceded by a pass over the epoch before it, which is not written.
import { type ConsensusRules, epochAt, firstSlotAt } from '#core/consensus.ts'
import type { Block } from '#io/beacon/block.ts'
import type { Committees } from '#io/beacon/committees.ts'
import { isActiveAt, type Validators } from '#io/beacon/validators.ts'
import { type BlockEffects, effectsOf, isSlashable, rewardOf } from './effects.ts'
import { payVotes, type Scores, type VotePay } from './pay.ts'
import { scoresFrom } from './scores.ts'
import { type Stake, stakeOf } from './stake.ts'
import type { Sums } from './sums.ts'
import { flag, tallyVotes, type Votes } from './votes.ts'

export interface EpochReading {
  readonly epoch: number
  /** Of this epoch and the next, in rising order. */
  readonly blocks: readonly Block[]
  readonly committees: Committees
  /** By slot of the epoch; −1 where nobody had to propose. */
  readonly proposers: ArrayLike<number>
  readonly sync: { readonly now: ArrayLike<number>; readonly next: ArrayLike<number> }
  /** At the first slot of this epoch and the next. */
  readonly now: Validators
  readonly next: Validators
  /** As it stood after the next epoch. */
  readonly finalizedEpoch: number
  /** By slot; undefined: there is no execution source. */
  readonly execution?: ReadonlyMap<number, ExecutionGwei> | undefined
}

export interface ExecutionGwei {
  readonly priorityFee: number
  readonly baselineMev: number
  readonly external: number
}

/** What an epoch leaves to the next one. */
export interface Carry {
  readonly epoch: number
  readonly proposerGwei: ReadonlyMap<number, number>
  readonly pay: VotePay
  readonly scores: Scores
  /** Of the block in the next epoch's first slot. */
  readonly first: BlockEffects | undefined
}

export interface Refined {
  readonly carry: Carry
  /** Gwei that came to or left validators other than by duties: deposits, withdrawals, consolidations. */
  readonly moved: ReadonlyMap<number, number>
  readonly pay: VotePay
  readonly effects: readonly BlockEffects[]
}

/** Adds the epoch to the sums. Without `before` (the first pass, unless it is epoch 0) the result is good for its carry only. */
export function refineEpoch(
  rules: ConsensusRules,
  reading: EpochReading,
  before: Carry | undefined,
  sums: Sums,
): Refined {
  const { epoch, now, next } = reading
  const stakes = [stakeOf(rules, epoch, now), stakeOf(rules, epoch + 1, next)] as const
  const votes = tallyVotes(rules, reading.committees, reading.blocks, stakes)
  const { pay, scores } = payVotes(rules, votes, {
    stake: stakes[1],
    isSlashed: slashedBy(rules, reading, stakes[1]),
    finalizedEpoch: reading.finalizedEpoch,
    // A whole state tells the scores that this epoch's votes find; otherwise they are carried on from epoch to epoch.
    scores: next.scores ? scoresFrom(next.scores) : (before?.scores ?? new Map()),
  })
  const gweiOf = (slot: number) => (before?.proposerGwei.get(slot) ?? 0) + (votes.proposerGwei.get(slot) ?? 0)
  const after = effectsAfterFirst(rules, reading, stakes, gweiOf)
  const lastSlot = firstSlotAt(rules, epoch + 1)
  const own = [...(before?.first ? [before.first] : []), ...after.filter(({ slot }) => slot < lastSlot)]

  sums.reach(Math.max(now.count, next.count))
  addVotes(sums, votes, pay)
  addBlocks(sums, reading, own, firstSlotAt(rules, epoch))
  const moved = addEarnings(sums, reading, before, after)
  markRows(sums, reading, epoch)
  const first = after.find(({ slot }) => slot === lastSlot)
  return { carry: { epoch, proposerGwei: votes.proposerGwei, pay, scores, first }, moved, pay, effects: own }
}

/** Of the blocks behind the epoch's first state, up to the next one's: those of slots first + 1 to next first. */
function effectsAfterFirst(
  rules: ConsensusRules,
  { epoch, blocks, now, sync }: EpochReading,
  stakes: readonly [Stake, Stake],
  gweiOf: (slot: number) => number,
): BlockEffects[] {
  const first = firstSlotAt(rules, epoch)
  const last = firstSlotAt(rules, epoch + 1)
  const wasSlashed = new Set<number>()
  for (let index = 0; index < now.count; index++) if (now.slashed[index] === 1) wasSlashed.add(index)
  return blocks
    .filter(({ slot }) => slot > first && slot <= last)
    .map((block) => {
      const isNext = block.slot === last
      const [stake, committee] = isNext ? [stakes[1], sync.next] : [stakes[0], sync.now]
      return effectsOf(rules, block, stake, committee, gweiOf(block.slot), wasSlashed)
    })
}

/** Who was slashed when the next epoch ended. */
function slashedBy(rules: ConsensusRules, { blocks, next, epoch }: EpochReading, stake: Stake): Uint8Array {
  const isSlashed = next.slashed.slice()
  for (const block of blocks) {
    if (epochAt(rules, block.slot) !== epoch + 1) continue
    for (const validator of [...block.proposerSlashings, ...block.attesterSlashings.flat()]) {
      if (isSlashable(stake, validator)) isSlashed[validator] = 1
    }
  }
  return isSlashed
}

function addVotes(sums: Sums, votes: Votes, pay: VotePay): void {
  for (let index = 0; index < votes.dutySlot.length; index++) {
    const isAssigned = (votes.dutySlot[index] as number) >= 0
    if (isAssigned) {
      sums.add('assigned', index, 1)
      addVote(sums, votes, index)
    }
    if (pay.eligible[index] === 1) addPay(sums, votes, pay, index, isAssigned)
  }
}

function addVote(sums: Sums, votes: Votes, index: number): void {
  const delay = votes.delay[index] as number
  if (delay === 0) return
  const right = votes.right[index] as number
  const timely = votes.timely[index] as number
  sums.add('included', index, 1)
  sums.add('inclusions', index, votes.inclusions[index] as number)
  sums.add('inclusion_delay', index, delay)
  sums.add('correct_source', index, 1)
  if (right & flag.target) sums.add('correct_target', index, 1)
  if (right & flag.head) sums.add('correct_head', index, 1)
  if (!(timely & flag.source)) sums.add('late_source', index, 1)
  if (right & flag.target && !(timely & flag.target)) sums.add('late_target', index, 1)
}

/** Each penalty goes to what caused it; the leak's goes with the target, whose lack it punishes (decision 0103). */
function addPay(sums: Sums, votes: Votes, pay: VotePay, index: number, isAssigned: boolean): void {
  const [source, target, head] = [pay.source[index] as number, pay.target[index] as number, pay.head[index] as number]
  const targetLoss = Math.min(0, target) + (pay.inactivity[index] as number)
  sums.add('attestation_reward', index, Math.max(0, source) + Math.max(0, target) + head)
  const isIncluded = (votes.delay[index] ?? 0) > 0
  // The votes of a slashed validator count for nothing, as if it had not voted.
  if (!isIncluded || pay.isSlashed[index] === 1) {
    sums.add('missed_attestation_penalty', index, Math.min(0, source) + targetLoss)
    if (!isIncluded && isAssigned) sums.add('missed_attestation_reward', index, pay.ideal[index] as number)
    return
  }
  sums.add('late_source_penalty', index, Math.min(0, source))
  sums.add(
    (votes.right[index] as number) & flag.target ? 'late_target_penalty' : 'wrong_target_penalty',
    index,
    targetLoss,
  )
}

function addBlocks(
  sums: Sums,
  { proposers, blocks, execution }: EpochReading,
  own: readonly BlockEffects[],
  first: number,
): void {
  const effects = new Map(own.map((one) => [one.slot, one]))
  const bySlot = new Map(blocks.map((block) => [block.slot, block]))
  const mean = meanOf(own.map(rewardOf))
  const executionMean = meanOf(own.map(({ slot }) => executionSum(execution?.get(slot))))
  for (let at = 0; at < proposers.length; at++) {
    const proposer = proposers[at] as number
    if (proposer < 0) continue
    sums.add('proposer_duties', proposer, 1)
    const block = bySlot.get(first + at)
    if (!block) {
      sums.add('missed_block_reward', proposer, mean)
      if (execution) sums.add('missed_execution_reward', proposer, executionMean)
      continue
    }
    sums.add('proposed', proposer, 1)
    if (block.payload && block.payload.transactions === 0) sums.add('proposed_empty', proposer, 1)
    const paid = execution?.get(block.slot)
    if (!paid) continue
    sums.add('priority_fee', proposer, paid.priorityFee)
    sums.add('baseline_mev', proposer, paid.baselineMev)
    sums.add('external_reward', proposer, paid.external)
  }
  for (const one of effects.values()) addEffects(sums, one)
}

const executionSum = (one: ExecutionGwei | undefined): number => (one ? one.priorityFee + one.baselineMev : 0)

const meanOf = (values: readonly number[]): number =>
  values.length === 0 ? 0 : Math.floor(values.reduce((sum, value) => sum + value, 0) / values.length)

function addEffects(sums: Sums, one: BlockEffects): void {
  sums.add('block_reward', one.proposer, rewardOf(one))
  sums.add('slashes_collected', one.proposer, one.slashed.length)
  for (const { validator } of one.slashed) sums.add('slashes_received', validator, 1)
  const gwei = one.stake.syncSeat
  for (const { validator, signed } of one.seats) {
    if (signed) {
      sums.add('sync_signatures', validator, 1)
      sums.add('sync_reward', validator, gwei)
    } else {
      sums.add('sync_penalty', validator, 0 - gwei)
      sums.add('missed_sync_reward', validator, gwei)
    }
  }
}

/** The rules' own account of the epoch decides; what the balance shows beyond it was moved (decision 0104). */
function addEarnings(
  sums: Sums,
  { now, next, epoch, blocks }: EpochReading,
  before: Carry | undefined,
  after: readonly BlockEffects[],
): ReadonlyMap<number, number> {
  const count = next.count
  const earned = new Float64Array(count)
  const add = (index: number, gwei: number) => {
    earned[index] = (earned[index] as number) + gwei
  }
  if (before && epoch > 0) {
    const { source, target, head, inactivity } = before.pay
    for (let index = 0; index < source.length; index++) {
      earned[index] =
        (source[index] as number) + (target[index] as number) + (head[index] as number) + (inactivity[index] as number)
    }
  }
  for (const one of after) {
    add(one.proposer, rewardOf(one))
    for (const { validator, signed } of one.seats) add(validator, signed ? one.stake.syncSeat : 0 - one.stake.syncSeat)
    for (const { validator, penalty } of one.slashed) add(validator, penalty)
  }
  const slots = new Set(after.map(({ slot }) => slot))
  const withdrawn = new Map<number, number>()
  for (const block of blocks) {
    if (!slots.has(block.slot)) continue
    for (const { validator, amount } of block.payload?.withdrawals ?? []) {
      withdrawn.set(validator, (withdrawn.get(validator) ?? 0) + amount)
    }
  }
  const moved = new Map<number, number>()
  for (let index = 0; index < count; index++) {
    const change = (next.balance[index] as number) - (now.balance[index] ?? 0)
    const rest = change - (earned[index] as number)
    // Slashed: the later penalty depends on everyone slashed in the same weeks, so the balance itself is the witness.
    const isTaken = rest < 0 && next.slashed[index] === 1
    if (isTaken) add(index, rest + (withdrawn.get(index) ?? 0))
    else if (rest !== 0) moved.set(index, rest)
    sums.add('earnings', index, earned[index] as number)
  }
  return moved
}

function markRows(sums: Sums, { now, execution }: EpochReading, epoch: number): void {
  for (let index = 0; index < now.count; index++) {
    if (!isActiveAt(now, index, epoch)) continue
    sums.mark(index)
    if (!execution) sums.add('execution_unknown', index, 1)
  }
}
