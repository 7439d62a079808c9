// Checks the responses about an epoch against each other and against the consensus rules, before the epoch is stored
// (docs/methodology.md, "What is verified"). The links between blocks are checked in verify-blocks.ts.
//
// 1. The registry never shrinks, and public keys never change. Withdrawal credentials only change as the chain changes
//    them. Activation, exit and slashing are never reverted.
// 2. Every validator that is active in an epoch is in exactly one committee.
// 3. Balances only change by duties, deposits, withdrawals and consolidations.
// 4. Effective balances follow balances with the hysteresis of the chain.
// 5. Since Gloas, the balances of builders only change by deposits, payments and withdrawals. What differs is found in
//    ../epochs/builder-differences.ts, and reported here with the other differences.

import { slashedIn } from '#sources/beacon/block.ts'
import { ContradictionError } from '#sources/beacon/client.ts'
import type { Committees } from '#sources/beacon/committees.ts'
import { type ConsensusRules, firstSlotAt, isFrom } from '#sources/beacon/consensus.ts'
import { canCredentialsChange, credentialsSize, pubkeySize } from '#sources/beacon/validator-keys.ts'
import { isActiveAt, type Validators } from '#sources/beacon/validators.ts'
import type { Earnings } from '../epochs/earnings.ts'
import type { EpochStates } from '../read/epoch.ts'
import type { Stake } from './stake.ts'

/**
 * How many balances may differ if a node does not list pending deposits and consolidations. Per epoch, the chain applies
 * at most 16 deposits, which change 16 balances, and consolidations of a few hundred ETH. About 8 of 32 ETH change two
 * balances each: together 32 balances. The limit is twice as many.
 */
const differingWithoutQueuesMax = 64
/** Differences that a message lists. */
const shownMax = 3

export function verifyRegistry({ epoch, atStart, atEnd, blocks }: EpochStates): void {
  const contradict = (difference: string): never => {
    throw new ContradictionError(`epoch ${epoch}: from its first state to that of epoch ${epoch + 1}, ${difference}`)
  }
  if (atEnd.count < atStart.count) contradict(`the registry shrinks from ${atStart.count} to ${atEnd.count} validators`)
  const changed = findChangedKey(atStart, atEnd)
  if (changed !== undefined) contradict(`the public key of validator ${changed} changes`)
  const slashedByBlocks = new Set(blocks.flatMap(slashedIn))
  for (let index = 0; index < atStart.count; index++) {
    if (!canCredentialsChange(atStart, atEnd, index))
      contradict(`the withdrawal credentials of validator ${index} change`)
    if (isInvalidChange(atStart.activation, atEnd.activation, index, epoch))
      contradict(`validator ${index} changes its activation epoch`)
    if (isInvalidChange(atStart.exit, atEnd.exit, index, epoch)) contradict(`validator ${index} changes its exit epoch`)
    if (atStart.slashed[index] === atEnd.slashed[index]) continue
    if (atStart.slashed[index] === 1) contradict(`validator ${index} is no longer slashed`)
    if (!slashedByBlocks.has(index)) contradict(`validator ${index} becomes slashed, but no block slashes it`)
  }
  for (let index = atStart.count; index < atEnd.count; index++) {
    if ((atEnd.activation[index] as number) <= epoch + 1) contradict(`the new validator ${index} is already active`)
  }
}

/** An epoch that was set must not change, and a new one must be in the future. */
function isInvalidChange(
  columnAtStart: Float64Array,
  columnAtEnd: Float64Array,
  index: number,
  epoch: number,
): boolean {
  const before = columnAtStart[index] as number
  const after = columnAtEnd[index] as number
  return before !== after && (Number.isFinite(before) || after <= epoch + 1)
}

function findChangedKey(atStart: Validators, atEnd: Validators): number | undefined {
  if (atStart.pubkeys.buffer === atEnd.pubkeys.buffer) return undefined
  const length = atStart.count * pubkeySize
  const before = atStart.pubkeys.subarray(0, length)
  const after = atEnd.pubkeys.subarray(0, length)
  if (Buffer.compare(before, after) === 0) return undefined
  return Math.floor(before.findIndex((byte, at) => byte !== after[at]) / pubkeySize)
}

/** `dutySlot`: by validator, from the committees; −1: no duty. */
export function verifyCommittees(
  { epoch, validators }: Pick<Stake, 'epoch' | 'validators'>,
  dutySlot: Int32Array,
  { members }: Committees,
): void {
  const contradict = (difference: string): never => {
    throw new ContradictionError(`epoch ${epoch}: ${difference}`)
  }
  let active = 0
  for (let index = 0; index < validators.count; index++) {
    const isActive = isActiveAt(validators, index, epoch)
    if (isActive) active += 1
    const hasDuty = (dutySlot[index] as number) >= 0
    if (isActive === hasDuty) continue
    contradict(`validator ${index} is ${isActive ? 'active but in no committee' : 'not active but in a committee'}`)
  }
  const seats = members.reduce((sum, { length }) => sum + length, 0)
  if (seats !== active) contradict(`the committees have ${seats} members, but ${active} validators are active`)
}

/** Whether another node has the same unexplained balances (`ContradictionError`). */
export type AcceptDifferences = (differencesKey: string) => boolean

/** What differs in an epoch, for messages and to recognize the same differences in the responses of another node. */
interface BalanceDifferences {
  readonly builders: readonly string[]
  readonly effectiveBalances: readonly { index: number; before: number; after: number; balance: number }[]
  readonly unexplained: readonly (readonly [index: number, gwei: number])[]
}

/**
 * `builders`: what differs about builders. `accept`: whether another node returned the differences with this key; then they
 * are accepted.
 */
export function verifyBalances(
  rules: ConsensusRules,
  states: EpochStates,
  { builders = [], ...earnings }: Earnings & { readonly builders?: readonly string[] },
  accept: AcceptDifferences,
): void {
  const { epoch, atStart, atEnd } = states
  const differingMax = earnings.hasPendingQueues ? 0 : Math.min(differingWithoutQueuesMax, Math.ceil(atStart.count / 8))
  const unexplained = [...earnings.unexplained]
  const mismatched = findWrongEffectiveBalances(rules, states, earnings)
  if (unexplained.length <= differingMax && mismatched.length <= differingMax && builders.length === 0) return
  const effectiveBalances = mismatched.map((index) => ({
    index,
    before: (atStart.increments[index] as number) * rules.increment,
    after: (atEnd.increments[index] as number) * rules.increment,
    balance: earnings.balancesAtUpdate[index] as number,
  }))
  const differences: BalanceDifferences = { builders, effectiveBalances, unexplained }
  const differencesKey = JSON.stringify([epoch, differences])
  if (accept(differencesKey)) return
  const texts = textsOf(differences)
  const more = texts.length > shownMax ? ` and ${texts.length - shownMax} more` : ''
  const shown = `${texts.slice(0, shownMax).join('; ')}${more}`
  throw new ContradictionError(`epoch ${epoch}: ${describeBrokenTransition(rules, states)}: ${shown}`, differencesKey)
}

const textsOf = ({ builders, effectiveBalances, unexplained }: BalanceDifferences): string[] => [
  ...builders,
  ...effectiveBalances.map(
    ({ index, before, after, balance }) =>
      `the effective balance of validator ${index} is ${after} gwei, which does not follow from ${before} gwei and a balance of ${balance} gwei`,
  ),
  ...unexplained.map(([index, gwei]) => `the balance of validator ${index} differs by ${gwei} gwei`),
]

/**
 * If neither the epoch nor the next one has a block, no parent link shows that blocks are missing (../read/linked-blocks.ts), so the message
 * names this cause first.
 */
function describeBrokenTransition(rules: ConsensusRules, { epoch, blocks }: EpochStates): string {
  const firstSlot = firstSlotAt(rules, epoch)
  const nextEpochSlot = firstSlotAt(rules, epoch + 1)
  const unfollowed = `the state of slot ${nextEpochSlot} does not follow from that of slot ${firstSlot}`
  if (blocks.length > 0) return `${unfollowed} and the blocks between them`
  const lastSlot = firstSlotAt(rules, epoch + 2) - 1
  const cause = `the node returned no block of slots ${firstSlot} to ${lastSlot}. A node that was synced from a checkpoint lacks older blocks`
  return `${cause}: add a node that has them, or set fromEpoch to a later epoch. Without blocks, ${unfollowed}`
}

/** Validators whose effective balance does not follow from their balance. */
function findWrongEffectiveBalances(
  rules: ConsensusRules,
  { epoch, atStart, atEnd }: EpochStates,
  { balancesAtUpdate, queuedExcess }: Earnings,
): number[] {
  const { increment, hysteresis, effectiveMax } = rules
  const step = Math.floor(increment / hysteresis.quotient)
  // An effective balance only changes if the balance is further away from it than these thresholds, in gwei.
  const downThreshold = step * hysteresis.down
  const upThreshold = step * hysteresis.up
  const isElectra = isFrom(rules, 'electra', epoch)
  // The Electra upgrade resets the effective balances of validators that are not active yet.
  const isUpgrade = !isElectra && isFrom(rules, 'electra', epoch + 1)
  const mismatched: number[] = []
  const follows = (index: number, balance: number): boolean => {
    const before = (atStart.increments[index] as number) * increment
    const after = (atEnd.increments[index] as number) * increment
    if (balance + downThreshold >= before && before + upThreshold >= balance) return before === after
    const whole = balance - (balance % increment)
    // Credentials may change before or after the chain updates effective balances.
    const maxOf = (validators: Validators) =>
      isElectra && isCompounding(validators, index) ? effectiveMax.electra : effectiveMax.phase0
    return after === Math.min(whole, maxOf(atStart)) || after === Math.min(whole, maxOf(atEnd))
  }
  for (let index = 0; index < atStart.count; index++) {
    const balance = balancesAtUpdate[index] as number
    if (follows(index, balance)) continue
    const excess = queuedExcess.get(index)
    if (excess !== undefined && follows(index, balance + excess)) continue
    if (isUpgrade && !Number.isFinite(atStart.activation[index] as number)) continue
    mismatched.push(index)
  }
  return mismatched
}

const isCompounding = ({ credentials }: Validators, index: number): boolean =>
  credentials[index * credentialsSize] === 2
