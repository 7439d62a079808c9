// Votes about payloads: attestations say whether the payload of an earlier block exists, and a committee votes for the
// payload of its slot.
import type { SeededRandom } from '../../seeded-random.ts'
import type { MistakeRates } from '../behaviour.ts'
import type { SimulatedAttestation } from '../records.ts'
import type { VotableBlock } from '../votes.ts'
import type { PayloadDelivery, SimulatedPayloadVotes } from './gloas-records.ts'

/** Of those who vote in the next slot, and of the committee. */
const seesLatePayload = { later: 0.5, inTime: 0.3 }

/** Adds to an attestation what it says about the payload. It may also vote for an older block. */
export function drawPayloadVote(
  blocks: readonly VotableBlock[],
  { head }: Pick<SimulatedAttestation, 'head'>,
  slot: number,
  rates: MistakeRates,
  draws: SeededRandom,
): Pick<SimulatedAttestation, 'head' | 'index'> {
  const newest = blocks.at(-1)
  if (!newest || head !== newest.root) return { head, index: draws.whole(0, 2) }
  const voted = (draws.happens(rates.oldHead) && blocks.at(-2)) || newest
  if (voted.slot === slot) return { head: voted.root, index: 0 }
  const isSeen = voted.isFull ?? sees(voted.delivery ?? 'full', seesLatePayload.later, draws)
  const isWrong = draws.happens(rates.wrongPayload)
  return { head: voted.root, index: isSeen === isWrong ? 0 : 1 }
}

const sees = (delivery: PayloadDelivery, late: number, draws: SeededRandom): boolean =>
  delivery === 'full' || (delivery === 'late' && draws.happens(late))

/** The votes of a payload committee, which only the next slot can include. `seats`: the validator of each seat. */
export function drawCommitteeVotes(
  { slot, root, delivery = 'full' }: VotableBlock,
  seats: readonly number[],
  mistakeRatesOf: (validator: number) => MistakeRates,
  draws: SeededRandom,
): SimulatedPayloadVotes[] {
  const votes = new Map<number, { readonly isPresent: boolean; readonly hasBlobs: boolean }>()
  for (const validator of new Set(seats)) {
    const { noPayloadVote, wrongPayloadVote } = mistakeRatesOf(validator)
    if (draws.happens(noPayloadVote)) continue
    const isPresent = sees(delivery, seesLatePayload.inTime, draws) !== draws.happens(wrongPayloadVote)
    votes.set(validator, { isPresent, hasBlobs: isPresent || draws.happens(0.1) })
  }
  const kinds = Map.groupBy(votes, ([, { isPresent, hasBlobs }]) => `${isPresent} ${hasBlobs}`)
  return [...kinds.values()].map((members) => {
    const voters = new Set(members.map(([validator]) => validator))
    const [[, vote]] = members as [(typeof members)[number]]
    return { blockRoot: root, slot, ...vote, bits: seats.map((validator) => voters.has(validator)) }
  })
}
