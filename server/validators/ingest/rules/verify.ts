// Checks the responses about an epoch against each other and against the consensus rules, before the epoch is stored
// (docs/methodology.md, "What is verified"). The links between blocks are checked in verify-blocks.ts.
//
// 1. The registry never shrinks, and public keys never change. Withdrawal credentials only change as the chain changes
//    them. Activation, exit and slashing are never reverted.
// 2. Every validator that is active in an epoch is in exactly one committee.
// 3. Balances only change by duties, deposits, withdrawals and consolidations.
// 4. Effective balances follow balances with the hysteresis of the chain.
// 5. Since Gloas, the balances of builders only change by deposits, payments and withdrawals.

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
 * Allowed unexplained balances if a node does not list pending deposits and consolidations. Per epoch, the chain
 * applies at most 16 deposits, and consolidations of a few hundred ETH.
 */
const unexplainedWithoutQueuesMax = 64
/** Differences that a message lists. */
const shownMax = 3

export function verifyRegistry({ epoch, now, next, blocks }: EpochStates): void {
  const differ = (difference: string): never => {
    throw new ContradictionError(`epoch ${epoch}: from its first state to that of epoch ${epoch + 1}, ${difference}`)
  }
  if (next.count < now.count) differ(`the registry shrinks from ${now.count} to ${next.count} validators`)
  const changed = changedKey(now, next)
  if (changed !== undefined) differ(`the public key of validator ${changed} changes`)
  const slashedByBlocks = new Set(blocks.flatMap(slashedIn))
  for (let index = 0; index < now.count; index++) {
    if (!canCredentialsChange(now, next, index)) differ(`the withdrawal credentials of validator ${index} change`)
    if (isInvalidChange(now.activation, next.activation, index, epoch))
      differ(`validator ${index} changes its activation epoch`)
    if (isInvalidChange(now.exit, next.exit, index, epoch)) differ(`validator ${index} changes its exit epoch`)
    if (now.slashed[index] === next.slashed[index]) continue
    if (now.slashed[index] === 1) differ(`validator ${index} is no longer slashed`)
    if (!slashedByBlocks.has(index)) differ(`validator ${index} becomes slashed, but no block slashes it`)
  }
  for (let index = now.count; index < next.count; index++) {
    if ((next.activation[index] as number) <= epoch + 1) differ(`the new validator ${index} is already active`)
  }
}

/** An epoch that was set must not change, and a new one must be in the future. */
function isInvalidChange(now: Float64Array, next: Float64Array, index: number, epoch: number): boolean {
  const [before, after] = [now[index] as number, next[index] as number]
  return before !== after && (Number.isFinite(before) || after <= epoch + 1)
}

function changedKey(now: Validators, next: Validators): number | undefined {
  if (now.pubkeys.buffer === next.pubkeys.buffer) return undefined
  const length = now.count * pubkeySize
  const [before, after] = [now.pubkeys.subarray(0, length), next.pubkeys.subarray(0, length)]
  if (Buffer.compare(before, after) === 0) return undefined
  return Math.floor(before.findIndex((byte, at) => byte !== after[at]) / pubkeySize)
}

/** `dutySlot`: by validator, from the committees; −1: no duty. */
export function verifyCommittees(
  { epoch, validators }: Pick<Stake, 'epoch' | 'validators'>,
  dutySlot: Int32Array,
  { members }: Committees,
): void {
  const differ = (difference: string): never => {
    throw new ContradictionError(`epoch ${epoch}: ${difference}`)
  }
  let active = 0
  for (let index = 0; index < validators.count; index++) {
    const isActive = isActiveAt(validators, index, epoch)
    if (isActive) active += 1
    if (isActive === (dutySlot[index] as number) >= 0) continue
    differ(`validator ${index} is ${isActive ? 'active but in no committee' : 'not active but in a committee'}`)
  }
  const seats = members.reduce((sum, { length }) => sum + length, 0)
  if (seats !== active) differ(`the committees have ${seats} members, but ${active} validators are active`)
}

/** `builders`: what differs about builders. `isAccepted`: whether another node returned the same differences. Then they are accepted. */
export function verifyBalances(
  rules: ConsensusRules,
  states: EpochStates,
  earnings: Earnings & { readonly builders?: readonly string[] },
  isAccepted: (differences: string) => boolean,
): void {
  const { epoch, now, next } = states
  const allowed = earnings.hasPendingQueues ? 0 : Math.min(unexplainedWithoutQueuesMax, Math.ceil(now.count / 8))
  // Deposits of a new validator with an invalid signature are not credited.
  const unexplained = [...earnings.unexplained].filter(([index, gwei]) => index < now.count || gwei > 0)
  const mismatched = findWrongEffectiveBalances(rules, states, earnings)
  const { builders = [] } = earnings
  if (unexplained.length <= allowed && mismatched.length <= allowed && builders.length === 0) return
  const differences = [
    ...builders,
    ...mismatched.map((index) => {
      const [before, after] = [now, next].map(({ increments }) => (increments[index] as number) * rules.increment)
      const balance = earnings.balancesAtUpdate[index]
      return `the effective balance of validator ${index} is ${after} gwei, which does not follow from ${before} gwei and a balance of ${balance} gwei`
    }),
    ...unexplained.map(([index, gwei]) => `the balance of validator ${index} differs by ${gwei} gwei`),
  ]
  const allDifferences = `epoch ${epoch}: ${differences.join('; ')}`
  if (isAccepted(allDifferences)) return
  const more = differences.length > shownMax ? ` and ${differences.length - shownMax} more` : ''
  const shown = `${differences.slice(0, shownMax).join('; ')}${more}`
  throw new ContradictionError(`epoch ${epoch}: ${describeUnfollowed(rules, states)}: ${shown}`, allDifferences)
}

/** Without any block, there are no links that would show that blocks are missing (../read/linked-blocks.ts). */
function describeUnfollowed(rules: ConsensusRules, { epoch, blocks }: EpochStates): string {
  const [first, next, end] = [epoch, epoch + 1, epoch + 2].map((at) => firstSlotAt(rules, at)) as [
    number,
    number,
    number,
  ]
  const unfollowed = `the state of slot ${next} does not follow from that of slot ${first}`
  if (blocks.length > 0) return `${unfollowed} and the blocks between them`
  const cause = `the node returned no block of slots ${first} to ${end - 1}. A node that was synced from a checkpoint lacks older blocks`
  return `${cause}: add a node that has them, or set fromEpoch to a later epoch. Without blocks, ${unfollowed}`
}

/** Validators whose effective balance does not follow from their balance. */
function findWrongEffectiveBalances(
  rules: ConsensusRules,
  { epoch, now, next }: EpochStates,
  { balancesAtUpdate, queuedExcess }: Earnings,
): number[] {
  const { increment, hysteresis, effectiveMax } = rules
  const step = Math.floor(increment / hysteresis.quotient)
  const [down, up] = [step * hysteresis.down, step * hysteresis.up]
  const isElectra = isFrom(rules, 'electra', epoch)
  // The Electra upgrade resets the effective balances of validators that are not active yet.
  const isUpgrade = !isElectra && isFrom(rules, 'electra', epoch + 1)
  const mismatched: number[] = []
  const follows = (index: number, balance: number): boolean => {
    const before = (now.increments[index] as number) * increment
    const after = (next.increments[index] as number) * increment
    if (balance + down >= before && before + up >= balance) return before === after
    const whole = balance - (balance % increment)
    // Credentials may change before or after the chain updates effective balances.
    const maxOf = (validators: Validators) =>
      isElectra && isCompounding(validators, index) ? effectiveMax.electra : effectiveMax.phase0
    return after === Math.min(whole, maxOf(now)) || after === Math.min(whole, maxOf(next))
  }
  for (let index = 0; index < now.count; index++) {
    const balance = balancesAtUpdate[index] as number
    if (follows(index, balance)) continue
    const excess = queuedExcess.get(index)
    if (excess !== undefined && follows(index, balance + excess)) continue
    if (isUpgrade && !Number.isFinite(now.activation[index] as number)) continue
    mismatched.push(index)
  }
  return mismatched
}

const isCompounding = ({ credentials }: Validators, index: number): boolean =>
  credentials[index * credentialsSize] === 2
