// Assigns the duties of an epoch: committees, proposers and the sync committee. They are drawn at random, or derived from
// the RANDAO mix as the consensus specifications define it.
import { computeCommittees, computeProposers, type DutyColumns } from '#sources/beacon/shuffle.ts'
import { createSeededRandom, type SeededRandom } from '../seeded-random.ts'
import { type ChainState, eth } from './chain.ts'
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
  /** The proposers of the current epoch and, if duties are derived, of the next. */
  lookahead: new Map<number, readonly number[]>(),
})

type DutyData = ReturnType<typeof createDutyData>

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
  const { slotsPerEpoch, committeesPerSlot, syncPeriod, syncSeats, derivesDuties } = scenario.plan
  if (derivesDuties) return deriveDuties(scenario, chain, data, epoch)
  const { committees, seats, lookahead } = data
  const active = chain.active(epoch)
  const shuffled = draws.shuffled(active)
  const groups = slotsPerEpoch * committeesPerSlot
  const cut = (at: number) => Math.floor((shuffled.length * at) / groups)
  committees.set(
    epoch,
    Array.from({ length: groups }, (_, at) => shuffled.slice(cut(at), cut(at + 1))),
  )
  committees.delete(epoch - 2)
  const period = Math.floor(epoch / syncPeriod)
  const sync = seats.getOrInsertComputed(period, () => Array.from({ length: syncSeats }, () => draws.pick(active)))
  seats.delete(period - 2)
  const proposers = Array.from({ length: slotsPerEpoch }, (_, at) => {
    const drawn = draws.pick(active)
    return scenario.behaviour.proposer(epoch * slotsPerEpoch + at) ?? drawn
  })
  lookahead.set(epoch, proposers).delete(epoch - 1)
  return { proposers, sync }
}

/** From the mix two epochs ago. Proposers are chosen an epoch ahead, sync committees a period ahead. */
function deriveDuties(
  { plan, seed }: NetworkScenario,
  chain: ChainState,
  { committees, seats, mixes, lookahead, mix }: DutyData,
  epoch: number,
): Duties {
  const rules = rulesOf(plan)
  mixes.set(epoch - 1, mix).delete(epoch - 3)
  const validators = columnsOf(chain.validators)
  const { members } = computeCommittees(rules, epoch, validators, hex(mixes.get(epoch - 2) ?? mix))
  committees.set(
    epoch,
    members.map((indices) => [...indices]),
  )
  committees.delete(epoch - 2)
  for (const at of [epoch, epoch + 1])
    if (!lookahead.has(at)) lookahead.set(at, [...computeProposers(rules, at, validators, hex(mix))])
  lookahead.delete(epoch - 1)
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
