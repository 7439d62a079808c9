// What the cast does in each epoch, and what the chain pays for it: the reward weights of the consensus rules with a
// fixed base reward. The limit on late targets is the one from before Deneb, so that there are such votes to show.
import { strict as assert } from 'node:assert'
import type { Epochs } from '#core/chain-time.ts'
import type { EpochDuties } from '#groups/validators/duties.ts'
import { type Measure, measures } from '#groups/validators/measures.ts'
import type { Chance } from '../chance.ts'
import type { Actor } from './cast.ts'

/** Gwei: base reward of a 32 ETH validator, and its parts by weight. */
const baseReward = 10_944
const sourceReward = Math.floor((baseReward * 14) / 64)
const targetReward = Math.floor((baseReward * 26) / 64)
const headReward = Math.floor((baseReward * 14) / 64)
const syncReward = 22_831
const slashingPenalty = 7_812_500
const lateSourceSlots = 5
const lateTargetSlots = 32

export interface Stage {
  /** Without an execution source, fees and payments stay unknown. */
  readonly hasExecution: boolean
  readonly slotsPerEpoch: number
}

/** A row of the columns that is being filled; they start as zeros. */
interface Line {
  readonly columns: Readonly<Record<Measure, Int32Array>>
  at: number
}

/** Rows of all actors over these epochs. Each actor draws from its own stream, which goes on from call to call. */
export function actOut(stage: Stage, cast: readonly Actor[], draws: readonly Chance[], epochs: Epochs): EpochDuties {
  const rowsMax = cast.length * (epochs.until - epochs.from)
  const each = (of: (name: Measure) => Int32Array) =>
    Object.fromEntries(measures.map((name) => [name, of(name)])) as Record<Measure, Int32Array>
  const line: Line = { columns: each(() => new Int32Array(rowsMax)), at: 0 }
  const [epochColumn, validatorColumn] = [new Int32Array(rowsMax), new Int32Array(rowsMax)]
  cast.forEach((actor, place) => {
    const own = draws[place]
    assert(own, 'every actor has a stream of its own')
    for (let epoch = epochs.from as number; epoch < epochs.until; epoch++) {
      if (!isActive(actor, epoch)) continue
      epochColumn[line.at] = epoch
      validatorColumn[line.at] = actor.index
      actEpoch(line, stage, actor, own, epoch)
      line.at += 1
    }
  })
  return {
    epoch: epochColumn.subarray(0, line.at),
    validator: validatorColumn.subarray(0, line.at),
    measures: each((name) => line.columns[name].subarray(0, line.at)),
  }
}

const isActive = ({ activationEpoch, exitEpoch }: Actor, epoch: number): boolean =>
  activationEpoch !== null && epoch >= activationEpoch && (exitEpoch === null || epoch < exitEpoch)

const holds = (range: { from: number; until: number } | null, epoch: number): boolean =>
  range !== null && epoch >= range.from && epoch < range.until

/** Each act tells by how many gwei it changes the balance; earnings are their sum. */
function actEpoch(line: Line, stage: Stage, actor: Actor, draws: Chance, epoch: number): void {
  const { columns, at } = line
  const isAway = holds(actor.outage, epoch) || (actor.slashedEpoch !== null && epoch > actor.slashedEpoch)
  let income = attest(line, actor, draws, isAway)
  if (holds(actor.sync, epoch)) income += signSync(line, draws, stage.slotsPerEpoch, isAway)
  if (actor.collectsEpoch === epoch) income += propose(line, draws, 'collects')
  else if (draws.happens(actor.proposing)) income += propose(line, draws, isAway ? 'misses' : 'tries')
  if (actor.slashedEpoch === epoch) {
    columns.slashes_received[at] = 1
    income -= slashingPenalty
  }
  columns.earnings[at] = income
  if (!stage.hasExecution) hideExecution(line)
}

function attest({ columns, at }: Line, actor: Actor, draws: Chance, isAway: boolean): number {
  columns.assigned[at] = 1
  if (isAway || draws.happens(actor.missing)) {
    columns.missed_attestation_penalty[at] = -(sourceReward + targetReward)
    columns.missed_attestation_reward[at] = sourceReward + targetReward + headReward
    return -(sourceReward + targetReward)
  }
  const delay = draws.happens(actor.late) ? lateness(draws) : 1
  const isTargetRight = !draws.happens(actor.wrongTarget)
  const isHeadRight = !draws.happens(actor.wrongHead)
  columns.included[at] = 1
  columns.inclusions[at] = draws.happens(0.06) ? 2 : 1
  columns.inclusion_delay[at] = delay
  columns.correct_source[at] = 1
  columns.correct_target[at] = isTargetRight ? 1 : 0
  columns.correct_head[at] = isHeadRight ? 1 : 0
  let reward = isHeadRight && delay === 1 ? headReward : 0
  let penalty = 0
  if (delay <= lateSourceSlots) reward += sourceReward
  else {
    penalty -= sourceReward
    columns.late_source[at] = 1
    columns.late_source_penalty[at] = -sourceReward
  }
  if (isTargetRight && delay <= lateTargetSlots) reward += targetReward
  else {
    penalty -= targetReward
    columns.late_target[at] = isTargetRight ? 1 : 0
    columns[isTargetRight ? 'late_target_penalty' : 'wrong_target_penalty'][at] = -targetReward
  }
  columns.attestation_reward[at] = reward
  return reward + penalty
}

const lateness = (draws: Chance): number =>
  draws.happens(0.8) ? draws.whole(2, 5) : draws.happens(0.9) ? draws.whole(5, 20) : draws.whole(20, 45)

function signSync({ columns, at }: Line, draws: Chance, slots: number, isAway: boolean): number {
  const missed = isAway ? slots : draws.happens(0.15) ? draws.whole(1, Math.min(4, slots + 1)) : 0
  columns.sync_signatures[at] = slots - missed
  columns.sync_reward[at] = (slots - missed) * syncReward
  columns.sync_penalty[at] = 0 - missed * syncReward
  columns.missed_sync_reward[at] = missed * syncReward
  return (slots - 2 * missed) * syncReward
}

function propose({ columns, at }: Line, draws: Chance, how: 'tries' | 'misses' | 'collects'): number {
  columns.proposer_duties[at] = 1
  if (how === 'misses' || (how === 'tries' && draws.happens(0.02))) {
    columns.missed_block_reward[at] = draws.whole(38_000_000, 44_000_000)
    columns.missed_execution_reward[at] = draws.whole(10_000_000, 90_000_000)
    return 0
  }
  const reward = draws.whole(36_000_000, 46_000_000) + (how === 'collects' ? slashingPenalty : 0)
  columns.proposed[at] = 1
  columns.block_reward[at] = reward
  columns.slashes_collected[at] = how === 'collects' ? 1 : 0
  if (how === 'tries' && draws.happens(0.05)) {
    columns.proposed_empty[at] = 1
    return reward
  }
  const fee = draws.whole(4_000_000, 60_000_000)
  const mev = draws.happens(0.7) ? draws.whole(1_000_000, 120_000_000) : 0
  columns.priority_fee[at] = fee
  columns.baseline_mev[at] = mev
  columns.external_reward[at] = draws.happens(0.6) ? fee + mev : 0
  return reward
}

function hideExecution({ columns, at }: Line): void {
  columns.execution_unknown[at] = 1
  columns.missed_execution_reward[at] = 0
  columns.priority_fee[at] = 0
  columns.baseline_mev[at] = 0
  columns.external_reward[at] = 0
}
