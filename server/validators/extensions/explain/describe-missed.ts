// What a missed duty is, as the endpoint explain returns it, and the sentences that describe it.
import type { ExplainedEpoch, ExplainedProposal } from '#api/contract/wire/validators-explain.ts'
import { type MissedDuty, payloadFlags, wrongHead, wrongTarget } from '../../duties/missed.ts'

type Vote = NonNullable<ExplainedEpoch['vote']>
type PayloadVote = NonNullable<ExplainedEpoch['payloadVote']>

export function toVote({ slot, delay, best_delay, wrong }: MissedDuty): Vote {
  const included = delay > 0
  return {
    slot,
    included,
    delay: included ? delay : null,
    bestDelay: best_delay > 0 ? best_delay : null,
    nextBlockMissing: best_delay !== 1,
    targetCorrect: included ? (wrong & wrongTarget) === 0 : null,
    headCorrect: included ? (wrong & wrongHead) === 0 : null,
  }
}

export function toPayloadVote(duty: MissedDuty): PayloadVote {
  const onChain = duty.delay > 0
  return {
    slot: duty.slot,
    onChain,
    couldBeOnChain: duty.best_delay > 0,
    payloadSeen: onChain ? has(duty, 'seen') : null,
    blobsSeen: onChain ? has(duty, 'blobsSeen') : null,
    payload: statusOf(duty),
  }
}

const gweiPerEther = 1_000_000_000

export function toProposal(duty: MissedDuty): ExplainedProposal {
  return {
    slot: duty.slot,
    payload: statusOf(duty),
    builder: duty.builder > 0 ? duty.builder - 1 : null,
    valueGwei: duty.ether * gweiPerEther + duty.gwei,
    paid: has(duty, 'paid') ? true : has(duty, 'unpaid') ? false : null,
  }
}

const has = ({ payload }: MissedDuty, flag: keyof typeof payloadFlags): boolean => (payload & payloadFlags[flag]) !== 0

const statusOf = (duty: MissedDuty) => (has(duty, 'full') ? 'full' : has(duty, 'empty') ? 'empty' : 'unknown')

/** `proposals`: of the day, since Gloas. */
export function describeMissed(
  missed: Omit<ExplainedEpoch, 'epoch' | 'startTimestamp' | 'final' | 'messages'>,
  proposals: readonly ExplainedProposal[],
): string[] {
  const isGloas = (slot: number) => proposals.some((proposal) => proposal.slot === slot)
  const withheld = proposals.filter(({ slot }) => missed.withheldPayloads?.includes(slot))
  const { vote, payloadVote, missedBlocks, emptyBlocks, missedSyncSignatures, slashedSlot } = missed
  return [
    ...(vote ? describeVote(vote) : []),
    ...missedBlocks.map((slot) => `it proposed no block in slot ${slot}`),
    ...emptyBlocks.map((slot) =>
      isGloas(slot)
        ? `the payload that it built for its block in slot ${slot} did not become part of the chain`
        : `its block in slot ${slot} has an empty payload`,
    ),
    ...withheld.map(describeWithheld),
    ...(missedSyncSignatures > 0 ? [`${missedSyncSignatures} sync signatures are missing`] : []),
    ...(slashedSlot === null ? [] : [`it was slashed in slot ${slashedSlot}`]),
    ...(payloadVote ? describePayloadVote(payloadVote) : []),
  ]
}

function describeVote(vote: Vote): string[] {
  const { slot, delay, bestDelay, targetCorrect, headCorrect, nextBlockMissing } = vote
  const name = `the vote of slot ${slot}`
  if (delay === null) return [`${name} is missing${nextBlockMissing ? '; the next slot had no block' : ''}`]
  const excuse = !nextBlockMissing
    ? ''
    : delay === bestDelay
      ? '; there was no earlier block'
      : `; ${bestDelay} was the best possible delay`
  return [
    ...(targetCorrect ? [] : [`${name} has a wrong target`]),
    ...(headCorrect ? [] : [`${name} has a wrong head`]),
    ...(delay > 1 ? [`${name} was included after ${delay} slots${excuse}`] : []),
  ]
}

function describeWithheld({ slot, builder, valueGwei, paid }: ExplainedProposal): string {
  const payment =
    paid === null
      ? ''
      : paid
        ? `; it still pays ${valueGwei} gwei`
        : `; it does not pay the ${valueGwei} gwei of its bid`
  return `builder ${builder} did not deliver the payload of its block in slot ${slot} in time, which is not its fault${payment}`
}

const noReward = 'votes of payload committees are neither rewarded nor penalized'

function describePayloadVote({ slot, onChain, couldBeOnChain, payloadSeen }: PayloadVote): string[] {
  const name = `its vote in the payload committee of slot ${slot}`
  if (onChain)
    return [
      `${name} says that the payload was ${payloadSeen ? '' : 'not '}there, but the chain decided otherwise`,
      noReward,
    ]
  const reason = couldBeOnChain
    ? 'it was not cast, or the next proposer left it out'
    : 'it could not be, because this slot or the next one has no block'
  return [`${name} is not on the chain: ${reason}`, noReward]
}
