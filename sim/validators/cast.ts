// Who plays in the demo world: each validator's life on the chain and how well it does its duties. The first dozen have
// a part of their own, so that every kind of story can be found; the rest are ordinary, some a little better than others.
import type { Epochs } from '#core/chain-time.ts'
import type { Range } from '#core/ranges.ts'
import type { Chance } from '../chance.ts'

export interface Actor {
  readonly index: number
  readonly pubkey: string
  /** Null: not yet. */
  readonly eligibleEpoch: number | null
  readonly activationEpoch: number | null
  readonly exitEpoch: number | null
  readonly withdrawableEpoch: number | null
  readonly slashedEpoch: number | null
  /** Proposes in this epoch and carries the proof against the slashed one. */
  readonly collectsEpoch: number | null
  /** Epochs in which nothing is done. */
  readonly outage: Range | null
  /** Sync committee duty. */
  readonly sync: Range | null
  readonly missing: number
  readonly late: number
  readonly wrongHead: number
  readonly wrongTarget: number
  readonly proposing: number
}

/** Epochs of one sync committee. */
const committeeEpochs = 256
const exitDelayEpochs = 256
const slashedDelayEpochs = 8192

/** `epochs` are those that will be acted out. */
export function castOf(draws: Chance, count: number, epochs: Epochs): Actor[] {
  const at = (part: number) => epochs.from + Math.floor((epochs.until - epochs.from) * part)
  const slashed = at(0.66)
  const parts: Partial<Actor>[] = [
    { missing: 0, late: 0, wrongHead: 0, wrongTarget: 0, sync: null },
    { collectsEpoch: slashed },
    { outage: { from: at(0.5), until: at(0.5) + 63 } },
    { late: 0.35 },
    { wrongHead: 0.3, wrongTarget: 0.05 },
    { eligibleEpoch: at(0.41), activationEpoch: at(0.417) + 4 },
    { exitEpoch: at(0.75) + 3, withdrawableEpoch: at(0.75) + 3 + exitDelayEpochs },
    { slashedEpoch: slashed, exitEpoch: slashed + 5, withdrawableEpoch: slashed + slashedDelayEpochs },
    { eligibleEpoch: epochs.until - 40, activationEpoch: null },
    { exitEpoch: epochs.from - 900, withdrawableEpoch: epochs.from - 900 + exitDelayEpochs },
    { sync: { from: at(0.9), until: at(0.9) + committeeEpochs }, missing: 0.01 },
    { outage: { from: epochs.until - 20, until: epochs.until } },
    { eligibleEpoch: null, activationEpoch: null },
  ]
  let index = 0
  return Array.from({ length: count }, (_, place) => {
    index += draws.whole(1, 4000)
    return { ...ordinary(draws, index, epochs), ...parts[place] }
  })
}

function ordinary(draws: Chance, index: number, epochs: Epochs): Actor {
  const eligibleEpoch = Math.max(0, epochs.from - draws.whole(10_000, 90_000))
  const syncFrom = draws.whole(epochs.from, epochs.until)
  return {
    index,
    pubkey: `0x${draws.hex(96)}`,
    eligibleEpoch,
    activationEpoch: Math.max(0, Math.min(epochs.from, eligibleEpoch + draws.whole(5, 400))),
    exitEpoch: null,
    withdrawableEpoch: null,
    slashedEpoch: null,
    collectsEpoch: null,
    outage: null,
    sync: draws.happens(0.2) ? { from: syncFrom, until: syncFrom + committeeEpochs } : null,
    missing: 0.0005 + 0.004 * draws.next(),
    late: 0.004 + 0.02 * draws.next(),
    wrongHead: 0.003 + 0.01 * draws.next(),
    wrongTarget: 0.0005 + 0.001 * draws.next(),
    proposing: 1 / 1500,
  }
}
