// What kind of network a seed makes: its preset and forks, how well its validators do, and how badly its node behaves.
import type { Fork } from '#core/consensus.ts'
import type { Chance } from '../chance.ts'

export interface Plan {
  readonly slotsPerEpoch: number
  readonly validators: number
  /** Acted out; the last ones are calm, so that what came before becomes final. */
  readonly epochs: number
  readonly calmEpochs: number
  readonly committeesPerSlot: number
  readonly syncSeats: number
  readonly syncPeriod: number
  readonly genesisUnix: number
  readonly slotSeconds: number
  readonly forkEpochs: Readonly<Partial<Record<Fork, number>>>
  /** Epochs in which most are away and finality fails. */
  readonly outage: { readonly from: number; readonly until: number }
  readonly missed: number
  readonly orphaned: number
  readonly slashing: number
  readonly moving: number
}

const forkPlans: readonly Readonly<Partial<Record<Fork, number>>>[] = [
  { altair: 0, bellatrix: 0, capella: 0, deneb: 0 },
  { altair: 0, bellatrix: 0, capella: 0, deneb: 0, electra: 0, fulu: 0 },
  { altair: 0, bellatrix: 0, capella: 0, deneb: 3, electra: 6 },
  { altair: 0, bellatrix: 2, capella: 4 },
  { altair: 0, bellatrix: 0, capella: 0, deneb: 0, electra: 4, fulu: 7 },
]

export function planOf(draws: Chance, changes: Partial<Plan> = {}): Plan {
  const hasOutage = draws.happens(0.35)
  const from = draws.whole(1, 4)
  const epochs = draws.whole(5, 9) + (hasOutage ? 5 : 0)
  return {
    slotsPerEpoch: draws.pick([4, 6, 8]),
    validators: draws.whole(24, 49),
    epochs,
    calmEpochs: 4,
    committeesPerSlot: draws.whole(1, 4),
    syncSeats: draws.pick([8, 16]),
    syncPeriod: draws.whole(2, 5),
    genesisUnix: 1_700_000_000 + draws.whole(0, 86_400),
    slotSeconds: draws.pick([2, 5, 12]),
    forkEpochs: draws.pick(forkPlans),
    outage: hasOutage ? { from, until: from + 5 } : { from: 0, until: 0 },
    missed: draws.pick([0, 0.08, 0.25]),
    orphaned: draws.pick([0, 0.05]),
    slashing: draws.pick([0, 0.03, 0.1]),
    moving: draws.pick([0, 0.15, 0.4]),
    ...changes,
  }
}

/** As `/eth/v1/config/spec` says it. Small figures, so that rare things happen within a few epochs. */
export function specOf(plan: Plan): Record<string, string> {
  const spec: Record<string, string | number> = {
    SECONDS_PER_SLOT: plan.slotSeconds,
    SLOTS_PER_EPOCH: plan.slotsPerEpoch,
    SYNC_COMMITTEE_SIZE: plan.syncSeats,
    EPOCHS_PER_SYNC_COMMITTEE_PERIOD: plan.syncPeriod,
    MAX_COMMITTEES_PER_SLOT: 8,
    SLOTS_PER_HISTORICAL_ROOT: 16,
    EPOCHS_PER_HISTORICAL_VECTOR: 16,
    EPOCHS_PER_SLASHINGS_VECTOR: 8,
    EFFECTIVE_BALANCE_INCREMENT: 1_000_000_000,
    BASE_REWARD_FACTOR: 64,
    MIN_EPOCHS_TO_INACTIVITY_PENALTY: 2,
    INACTIVITY_SCORE_BIAS: 4,
    INACTIVITY_SCORE_RECOVERY_RATE: 16,
    INACTIVITY_PENALTY_QUOTIENT_ALTAIR: 50_331_648,
    INACTIVITY_PENALTY_QUOTIENT_BELLATRIX: 16_777_216,
    MIN_SLASHING_PENALTY_QUOTIENT_ALTAIR: 64,
    MIN_SLASHING_PENALTY_QUOTIENT_BELLATRIX: 32,
    MIN_SLASHING_PENALTY_QUOTIENT_ELECTRA: 4096,
    WHISTLEBLOWER_REWARD_QUOTIENT: 512,
    WHISTLEBLOWER_REWARD_QUOTIENT_ELECTRA: 4096,
  }
  for (const [fork, epoch] of Object.entries(plan.forkEpochs)) spec[`${fork.toUpperCase()}_FORK_EPOCH`] = epoch
  return Object.fromEntries(Object.entries(spec).map(([name, value]) => [name, String(value)]))
}
