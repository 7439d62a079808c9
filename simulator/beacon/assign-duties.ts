// Assigns the duties of an epoch: committees, proposers and the sync committee. They are drawn at random, or derived from
// the RANDAO mix as the consensus specifications define it.
import { computeCommittees, computeProposers, type DutyColumns } from '#simulator/beacon/shuffle.ts'
import { createSeededRandom, type SeededRandom } from '../seeded-random.ts'
import { eth } from './amounts.ts'
import type { ChainState } from './chain.ts'
import { choosePayloadCommittees, chooseProposers } from './gloas/weighted-selection.ts'
import { rulesOf } from './plan.ts'
import { type SimulatedValidator, zeroRoot } from './records.ts'
import type { NetworkScenario } from './simulate.ts'
import { hex } from './ssz-writer.ts'
import type { Committees } from './votes.ts'

/** What duties depend on, and the duties that later epochs need. */
export const createDutyData = () => ({
  committees: new Map<number, Committees>(),
  /** Sync committees by period: the previous and the current one. */
  seats: new Map<number, readonly number[]>(),
  /** If duties are derived: the current RANDAO mix, and those at the end of the last epochs. */
  mix: zeroRoot,
  mixes: new Map<number, string>(),
  /** The proposers of the current epoch and, if duties are derived or since Gloas, of the next. */
  lookahead: new Map<number, readonly number[]>(),
  /** Since Gloas: validators by slot and seat, in the previous, the current and the next epoch. */
  payloadCommittees: new Map<number, readonly (readonly number[])[]>(),
})

export type DutyData = ReturnType<typeof createDutyData>

export interface Duties {
  readonly proposers: readonly number[]
  readonly sync: readonly number[]
}

export function assignDuties(
  scenario: NetworkScenario,
  chain: ChainState,
  data: DutyData,
  epoch: number,
  draws: SeededRandom,
): Duties {
  const { syncPeriod, syncSeats, derivesDuties } = scenario.plan
  if (derivesDuties) return deriveDuties(scenario, chain, data, epoch)
  const { committees, seats, lookahead } = data
  const active = chain.active(epoch)
  if (chain.data.gloas) drawAhead(scenario, chain, data, epoch, draws)
  else committees.set(epoch, drawCommittees(scenario, active, draws))
  committees.delete(epoch - 2)
  const period = Math.floor(epoch / syncPeriod)
  const sync = seats.getOrInsertComputed(period, () => Array.from({ length: syncSeats }, () => draws.pick(active)))
  seats.delete(period - 2)
  const proposers = lookahead.getOrInsertComputed(epoch, () => drawProposers(scenario, active, epoch, draws))
  lookahead.delete(epoch - 1)
  return { proposers, sync }
}

/** Since Gloas, the duties of the next epoch are in the state. */
function drawAhead(
  scenario: NetworkScenario,
  chain: ChainState,
  { committees, lookahead, payloadCommittees }: DutyData,
  epoch: number,
  draws: SeededRandom,
): void {
  for (const at of [epoch, epoch + 1]) {
    if (payloadCommittees.has(at)) continue
    const active = chain.active(at)
    const drawn = drawCommittees(scenario, active, draws)
    committees.set(at, drawn)
    const unslashed = active.filter((index) => !chain.at(index).slashed)
    lookahead.set(at, drawProposers(scenario, unslashed.length > 0 ? unslashed : active, at, draws))
    const members = membersBySlot(drawn, scenario.plan.slotsPerEpoch)
    const seats = { length: chain.constants.ptcSize }
    payloadCommittees.set(
      at,
      // With few validators, a slot may have none.
      members.map((candidates) => Array.from(seats, () => draws.pick(candidates.length > 0 ? candidates : active))),
    )
  }
  payloadCommittees.delete(epoch - 2)
}

function drawCommittees({ plan }: NetworkScenario, active: readonly number[], draws: SeededRandom): Committees {
  const shuffled = draws.shuffled(active)
  const groups = plan.slotsPerEpoch * plan.committeesPerSlot
  const cut = (at: number) => Math.floor((shuffled.length * at) / groups)
  return Array.from({ length: groups }, (_, at) => shuffled.slice(cut(at), cut(at + 1)))
}

const drawProposers = (
  { plan, behaviour }: NetworkScenario,
  candidates: readonly number[],
  epoch: number,
  draws: SeededRandom,
): number[] =>
  Array.from({ length: plan.slotsPerEpoch }, (_, at) => {
    const drawn = draws.pick(candidates)
    return behaviour.proposer(epoch * plan.slotsPerEpoch + at) ?? drawn
  })

/** All committees of each slot, one after another. */
export function membersBySlot(committees: Committees, slotsPerEpoch: number): number[][] {
  const perSlot = committees.length / slotsPerEpoch
  return Array.from({ length: slotsPerEpoch }, (_, at) => committees.slice(at * perSlot, (at + 1) * perSlot).flat())
}

/** From the mix two epochs ago. Proposers are chosen an epoch ahead, sync committees a period ahead. */
function deriveDuties(
  { plan, seed }: NetworkScenario,
  chain: ChainState,
  { committees, seats, mixes, lookahead, payloadCommittees, mix }: DutyData,
  epoch: number,
): Duties {
  const rules = rulesOf(plan)
  mixes.set(epoch - 1, mix).delete(epoch - 3)
  const validators = columnsOf(chain.validators)
  const mixFor = (at: number) => mixes.get(at - 2) ?? mix
  const committeesOf = (at: number): Committees =>
    computeCommittees(rules, at, validators, hex(mixFor(at))).members.map((indices) => [...indices])
  committees.set(epoch, committeesOf(epoch)).delete(epoch - 2)
  const isGloas = chain.data.gloas !== undefined
  // The proposers of the epoch after the fork were chosen at the end of the last Fulu epoch.
  const excludesSlashed = chain.isFrom('gloas', epoch - 1)
  for (const at of [epoch, epoch + 1]) {
    const { slotsPerEpoch } = plan
    const choice = { epoch: at, slotsPerEpoch, mix: mixFor(at), shuffleRounds: rules.shuffleRounds }
    if (!lookahead.has(at))
      lookahead.set(
        at,
        excludesSlashed
          ? chooseProposers(choice, chain.validators, chain.active(at))
          : [...computeProposers(rules, at, validators, hex(mix))],
      )
    if (isGloas && !payloadCommittees.has(at)) {
      const members = membersBySlot(committeesOf(at), slotsPerEpoch)
      payloadCommittees.set(at, choosePayloadCommittees(choice, chain.validators, members, chain.constants.ptcSize))
    }
  }
  lookahead.delete(epoch - 1)
  payloadCommittees.delete(epoch - 2)
  const period = Math.floor(epoch / plan.syncPeriod)
  for (const at of [period, period + 1]) {
    if (seats.has(at)) continue
    const draws = createSeededRandom(`${seed}/sync committee ${at}`)
    seats.set(
      at,
      Array.from({ length: plan.syncSeats }, () => draws.pick(chain.active(epoch))),
    )
  }
  seats.delete(period - 2)
  return { proposers: lookahead.get(epoch) ?? [], sync: seats.get(period) ?? [] }
}

/** What the choice of committees and proposers depends on. */
const columnsOf = (validators: readonly SimulatedValidator[]): DutyColumns => ({
  count: validators.length,
  activation: Float64Array.from(validators, ({ activation }) => activation),
  exit: Float64Array.from(validators, ({ exit }) => exit),
  increments: Uint32Array.from(validators, ({ effective }) => Number(effective / eth)),
})
