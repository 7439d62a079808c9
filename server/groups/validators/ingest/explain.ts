// The duties behind a score: what a validator did in each epoch, what was late or wrong, and whether the block that should
// have taken its vote was itself missing, which is not the validator's fault. Read from the node again: epochs are not stored
// one by one.
import type { Beacon } from '#io/beacon/client.ts'
import { EpochReader, type Reading } from './read.ts'
import { stakeOf } from './stake.ts'
import { flag, tallyVotes } from './votes.ts'

export interface ExplainedEpoch {
  readonly epoch: number
  /** Null: nothing to vote on, the validator was not active. */
  readonly vote: {
    readonly slot: number
    readonly included: boolean
    readonly delay: number | null
    readonly target: boolean
    readonly head: boolean
    /** The slot after the duty had no block, so a delay of 1 was out of reach. */
    readonly nextBlockMissing: boolean
  } | null
  readonly proposals: readonly { readonly slot: number; readonly proposed: boolean; readonly empty: boolean }[]
  readonly sync: { readonly signed: number; readonly missed: number } | null
  /** In words, what was not right; empty when nothing was. */
  readonly faults: readonly string[]
}

export async function* explainEpochs(
  beacon: Beacon,
  validator: number,
  epochs: { readonly from: number; readonly until: number },
  signal: AbortSignal,
): AsyncGenerator<ExplainedEpoch> {
  const { rules } = await beacon.chain(signal)
  const reader = new EpochReader(beacon, rules).under(signal)
  for (let epoch = epochs.from; epoch < epochs.until; epoch++) {
    const reading = await reader.read(epoch)
    const stakes = [stakeOf(rules, epoch, reading.now), stakeOf(rules, epoch + 1, reading.next)] as const
    const votes = tallyVotes(rules, reading.committees, reading.blocks, stakes)
    const slots = new Set(reading.blocks.map(({ slot }) => slot))
    const slot = votes.dutySlot[validator] ?? -1
    const delay = votes.delay[validator] ?? 0
    const right = votes.right[validator] ?? 0
    const vote =
      slot < 0
        ? null
        : {
            slot,
            included: delay > 0,
            delay: delay > 0 ? delay : null,
            target: (right & flag.target) !== 0,
            head: (right & flag.head) !== 0,
            nextBlockMissing: !slots.has(slot + 1),
          }
    const rest = { proposals: proposalsOf(reading, validator), sync: syncOf(reading, validator, rules.slotsPerEpoch) }
    yield { epoch, vote, ...rest, faults: faultsOf({ vote, ...rest }) }
  }
}

function proposalsOf({ proposers, blocks, committees }: Reading, validator: number): ExplainedEpoch['proposals'] {
  const bySlot = new Map(blocks.map((block) => [block.slot, block]))
  return Array.from({ length: proposers.length }, (_, at) => at)
    .filter((at) => proposers[at] === validator)
    .map((at) => {
      const block = bySlot.get(committees.firstSlot + at)
      return {
        slot: committees.firstSlot + at,
        proposed: block !== undefined,
        empty: block?.payload?.transactions === 0,
      }
    })
}

function syncOf({ sync, blocks, committees }: Reading, validator: number, slots: number): ExplainedEpoch['sync'] {
  const seats = Array.from({ length: sync.now.length }, (_, seat) => seat).filter(
    (seat) => sync.now[seat] === validator,
  )
  if (seats.length === 0) return null
  const own = blocks.filter(({ slot }) => slot >= committees.firstSlot && slot < committees.firstSlot + slots)
  const signed = own.flatMap(({ syncBits }) =>
    seats.filter((seat) => ((syncBits[seat >> 3] ?? 0) >> (seat & 7)) & 1),
  ).length
  return { signed, missed: own.length * seats.length - signed }
}

function faultsOf({ vote, proposals, sync }: Pick<ExplainedEpoch, 'vote' | 'proposals' | 'sync'>): string[] {
  const faults: string[] = []
  const excuse = vote?.nextBlockMissing ? ' (the next slot had no block)' : ''
  if (vote && !vote.included) faults.push(`vote of slot ${vote.slot} is missing${excuse}`)
  if (vote?.included && !vote.target) faults.push(`vote of slot ${vote.slot} names a wrong target`)
  if (vote?.included && !vote.head) faults.push(`vote of slot ${vote.slot} names a wrong head`)
  if (vote?.delay && vote.delay > 1)
    faults.push(`vote of slot ${vote.slot} was included after ${vote.delay} slots${excuse}`)
  for (const { slot, proposed, empty } of proposals) {
    if (!proposed) faults.push(`no block in slot ${slot}`)
    else if (empty) faults.push(`the block of slot ${slot} has an empty payload`)
  }
  if (sync && sync.missed > 0) faults.push(`${sync.missed} sync signatures are missing`)
  return faults
}
