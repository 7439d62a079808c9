// Checks an epoch's answers against each other and against the rules of the chain, before anything is stored of it
// (docs/methodology.md, "What is verified").
//
// 1. A registry never shrinks and keeps its public keys. What has been decided about a validator stays decided.
// 2. Every validator that is active in an epoch sits in exactly one committee.
// 3. Balances change by duties, deposits, withdrawals and consolidations, and by nothing else.
// 4. Effective balances follow balances by the chain's hysteresis.
// Blocks are checked where they are read (read.ts).

import { slashedIn } from '#sources/beacon/block.ts'
import { ContradictionError } from '#sources/beacon/client.ts'
import type { Committees } from '#sources/beacon/committees.ts'
import { type ConsensusRules, firstSlotAt, isFrom } from '#sources/beacon/consensus.ts'
import { credentialsSize, pubkeySize } from '#sources/beacon/validator-keys.ts'
import { isActiveAt, type Validators } from '#sources/beacon/validators.ts'
import type { Earnings } from '../epochs/earnings.ts'
import type { Stake } from '../epochs/stake.ts'
import type { EpochStates } from './epoch.ts'

/**
 * Where a node does not list pending deposits and consolidations, as many validators as an epoch's may be left without an
 * explanation: the chain carries out at most 16 deposits, and consolidations for a few hundred ETH.
 */
const unexplainedWithoutQueuesMax = 64
/** As many as a message can name. */
const shownMax = 3

export function verifyRegistry({ epoch, now, next, blocks }: EpochStates): void {
  const differ = (what: string): never => {
    throw new ContradictionError(`epoch ${epoch}: between its first state and that of epoch ${epoch + 1}, ${what}`)
  }
  if (next.count < now.count) differ(`the registry shrinks from ${now.count} to ${next.count} validators`)
  const changed = changedKey(now, next)
  if (changed !== undefined) differ(`the public key of validator ${changed} changes`)
  const accused = new Set(blocks.flatMap(slashedIn))
  for (let index = 0; index < now.count; index++) {
    if (isDecided(now.activation, next.activation, index, epoch))
      differ(`validator ${index} changes its activation epoch`)
    if (isDecided(now.exit, next.exit, index, epoch)) differ(`validator ${index} changes its exit epoch`)
    if (now.slashed[index] === next.slashed[index]) continue
    if (now.slashed[index] === 1) differ(`the slashing of validator ${index} is taken back`)
    if (!accused.has(index)) differ(`validator ${index} becomes slashed, but no block slashes it`)
  }
  for (let index = now.count; index < next.count; index++) {
    if ((next.activation[index] as number) <= epoch + 1) differ(`validator ${index} appears and is already active`)
  }
}

/** An epoch that was set stays; one that is set now lies ahead. */
function isDecided(now: Float64Array, next: Float64Array, index: number, epoch: number): boolean {
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

/** `dutySlot`: by validator, as the committees have it; −1 without a duty. */
export function verifyCommittees(
  { epoch, validators }: Pick<Stake, 'epoch' | 'validators'>,
  dutySlot: Int32Array,
  { members }: Committees,
): void {
  const differ = (what: string): never => {
    throw new ContradictionError(`epoch ${epoch}: ${what}`)
  }
  let active = 0
  for (let index = 0; index < validators.count; index++) {
    const isActive = isActiveAt(validators, index, epoch)
    if (isActive) active += 1
    if (isActive === (dutySlot[index] as number) >= 0) continue
    differ(`validator ${index} is ${isActive ? 'active and in no committee' : 'not active and in a committee'}`)
  }
  const seats = members.reduce((sum, { length }) => sum + length, 0)
  if (seats !== active) differ(`the committees have ${seats} members, ${active} validators are active`)
}

/** `isAccepted`: whether another node told exactly this remainder, so that the rules are in doubt and not the node. */
export function verifyBalances(
  rules: ConsensusRules,
  reading: EpochStates,
  earnings: Earnings,
  isAccepted: (remainder: string) => boolean,
): void {
  const { epoch, now, next } = reading
  const allowed = earnings.isExact ? 0 : Math.min(unexplainedWithoutQueuesMax, Math.ceil(now.count / 8))
  // Of a new validator's deposits, those with a wrong signature are not credited.
  const unexplained = [...earnings.unexplained].filter(([index, gwei]) => index < now.count || gwei > 0)
  const mismatched = findWrongEffectiveBalances(rules, reading, earnings)
  if (unexplained.length <= allowed && mismatched.length <= allowed) return
  const texts = [
    ...mismatched.map((index) => {
      const [before, after] = [now, next].map(({ increments }) => (increments[index] as number) * rules.increment)
      const balance = earnings.atAdjustment[index]
      return `the effective balance of validator ${index} is ${after} gwei, which does not follow from ${before} gwei and a balance of ${balance} gwei`
    }),
    ...unexplained.map(([index, gwei]) => `the balance of validator ${index} differs by ${gwei} gwei`),
  ]
  const remainder = `epoch ${epoch}: ${texts.join('; ')}`
  if (isAccepted(remainder)) return
  const more = texts.length > shownMax ? ` and ${texts.length - shownMax} more` : ''
  throw new ContradictionError(
    `epoch ${epoch}: the state of slot ${firstSlotAt(rules, epoch + 1)} does not follow from that of slot ` +
      `${firstSlotAt(rules, epoch)} and the blocks between them: ${texts.slice(0, shownMax).join('; ')}${more}`,
    remainder,
  )
}

/** Validators whose effective balance is not what their balance makes of it. */
function findWrongEffectiveBalances(
  rules: ConsensusRules,
  { epoch, now, next }: EpochStates,
  { atAdjustment }: Earnings,
): number[] {
  const { increment, hysteresis, effectiveMax } = rules
  const step = Math.floor(increment / hysteresis.quotient)
  const [down, up] = [step * hysteresis.down, step * hysteresis.up]
  const isElectra = isFrom(rules, 'electra', epoch)
  // The upgrade itself takes back what validators that were not active yet had.
  const isUpgrade = !isElectra && isFrom(rules, 'electra', epoch + 1)
  const mismatched: number[] = []
  for (let index = 0; index < now.count; index++) {
    const balance = atAdjustment[index] as number
    const before = (now.increments[index] as number) * increment
    const after = (next.increments[index] as number) * increment
    if (balance + down >= before && before + up >= balance) {
      if (before === after) continue
    } else {
      const whole = balance - (balance % increment)
      // Credentials may change within the epoch, before or after the adjustment.
      const maxOf = (validators: Validators) =>
        isElectra && isCompounding(validators, index) ? effectiveMax.electra : effectiveMax.phase0
      if (after === Math.min(whole, maxOf(now)) || after === Math.min(whole, maxOf(next))) continue
    }
    if (isUpgrade && !Number.isFinite(now.activation[index] as number)) continue
    mismatched.push(index)
  }
  return mismatched
}

const isCompounding = ({ credentials }: Validators, index: number): boolean =>
  credentials[index * credentialsSize] === 2
