// Recorded chains of a running Prysm, with truths that were derived from the client's own answers: on Fulu, and over the
// fork to Gloas.
import type { Measure } from '#validators/method/measures.ts'
import { unpackRecording } from './beacon-replay.ts'

export const prysmRecording = 'prysm-fulu'
export const prysmGloasRecording = 'prysm-gloas'

/** One validator in one epoch: the measures that are not 0. */
export type PrysmRow = {
  readonly kind: 'row'
  readonly epoch: number
  readonly validator: number
  readonly balance_from: number
  readonly balance_to: number
  /** 1 or absent. */
  readonly active?: number
} & Readonly<Partial<Record<Measure, number>>>

/** One validator in an hour or a day: the fields of 4.5 by name. */
export type PrysmFigures = {
  readonly kind: 'hour' | 'day'
  readonly number: number
  readonly validator: number
} & Readonly<Record<string, number | null>>

export interface PrysmValidator {
  readonly kind: 'validator'
  readonly validatorIndex: number
  readonly validatorPubkey: string
  readonly withdrawalCredentials: string
  readonly activationEligibilityEpoch: number | null
  readonly activationEpoch: number | null
  readonly exitEpoch: number | null
  readonly withdrawableEpoch: number | null
}

export interface PrysmTruth {
  readonly rows: readonly PrysmRow[]
  readonly figures: readonly PrysmFigures[]
  readonly validators: readonly PrysmValidator[]
}

/** 32 ETH of effective balance divided by MIN_SLASHING_PENALTY_QUOTIENT_ELECTRA. The later penalty is not reached. */
const slashingPenaltyGwei = -7_812_500

export function prysmTruth(): PrysmTruth {
  const lines = unpackRecording(`${prysmRecording}/truth.ndjson`).trim().split('\n')
  const all = lines.map((line) => JSON.parse(line) as PrysmRow | PrysmFigures | PrysmValidator)
  const rows = all
    .filter((line) => line.kind === 'row')
    .map((row) => (row.slashes_received ? { ...row, slashing_penalty: slashingPenaltyGwei } : row))
  const first = rows[0]?.epoch
  // A validator has no row in the epoch that creates it: its first balance is what was deposited then.
  const firstRows = Map.groupBy(rows, ({ validator }) => validator)
    .values()
    .map(([row]) => row as PrysmRow)
  const created = [...firstRows].filter(({ epoch }) => epoch !== first)
  return {
    rows: [
      ...rows,
      ...created.map((row) => ({
        ...{ kind: row.kind, epoch: row.epoch - 1, validator: row.validator, deposited: row.balance_from },
        ...{ balance_from: 0, balance_to: row.balance_from },
      })),
    ],
    figures: all.filter((line): line is PrysmFigures => line.kind === 'hour' || line.kind === 'day'),
    validators: all.filter((line) => line.kind === 'validator'),
  }
}

/** One validator in one epoch of the chain that crosses the fork to Gloas. */
export interface PrysmGloasRow {
  readonly v: number
  /** Slot and committee. */
  readonly duty?: readonly [number, number]
  /** The first vote that a block includes. */
  readonly inc?: { readonly slot: number; readonly rootRight: boolean; readonly index: number }
  /** By the names of test/recordings/prysm-gloas/README.md; absent: 0. */
  readonly amounts: Readonly<Record<string, number>>
}

export interface PrysmGloasEpoch {
  readonly epoch: number
  readonly rows: readonly PrysmGloasRow[]
  /** Slot, proposer, whether the payload is part of the chain; null: no block. */
  readonly slots: readonly (readonly [number, number, boolean | null])[]
}

export const prysmGloasTruth = (): readonly PrysmGloasEpoch[] =>
  unpackRecording(`${prysmGloasRecording}/truth.ndjson`)
    .trim()
    .split('\n')
    .map((line) => {
      const { epoch, rows, slots } = JSON.parse(line) as Omit<PrysmGloasEpoch, 'rows'> & {
        readonly rows: readonly (Omit<PrysmGloasRow, 'amounts'> & Record<string, number>)[]
      }
      const toRow = ({ v, duty, inc, ...amounts }: (typeof rows)[number]): PrysmGloasRow => ({
        ...{ v, ...(duty && { duty }), ...(inc && { inc }) },
        // A balance of 0 pays no penalty.
        amounts: { ...amounts, sync_pen: (amounts.sync_pen ?? 0) - (amounts.sync_unpayable ?? 0) },
      })
      return { epoch, slots, rows: rows.map(toRow) }
    })
