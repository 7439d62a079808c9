// A recorded chain of a running Prysm on Fulu, with a truth that was derived from the client's own answers. The recording is
// not part of the project: it is in a folder next to it. Tests are skipped without it.
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import type { Measure } from '#validators/method/measures.ts'
import { unpackRecording } from './beacon-replay.ts'

export const prysmRecording = join(import.meta.dirname, '../../shared/recordings/prysm-fulu')

/** Of the same client over the fork to Gloas. */
export const prysmGloasRecording = join(import.meta.dirname, '../../shared/recordings/prysm-gloas')

/** For the option `skip` of a test: false if the recording is there. */
export const skipWithoutPrysm: string | false = existsSync(prysmRecording) ? false : `${prysmRecording} does not exist`

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
