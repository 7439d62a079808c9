// Updates the registry from a beacon state. Only changes are written: a network of a million validators writes a
// million rows once, and a few per epoch later.
//
// 1. The thread that reads states compares two states. After a restart it knows only one, so that every validator is a
//    change.
// 2. Each change is compared with what is stored before it is written.

import type { Network } from '#api/contract/wire/validators.ts'
import type { Range } from '#core/ranges.ts'
import { recordFrom } from '#core/record-from.ts'
import { nextEventLoopTurn } from '#runtime/clock.ts'
import {
  hasSameCredentials,
  pubkeyOf,
  selectValidatorKeys,
  type ValidatorKeys,
  withdrawalAddressOf,
} from '#sources/beacon/validator-keys.ts'
import type { Validators } from '#sources/beacon/validators.ts'
import type { State, StateReader } from '#storage/state.ts'
import { putValidators, toHex, type ValidatorEntry } from './registry.ts'

/** Rows that are compared at once and written in one transaction, so that other writes and requests can run in between. */
const rowsAtOnce = 1000

const epochColumns = ['eligible', 'activation', 'exit', 'withdrawable'] as const
type EpochColumns = Readonly<Record<(typeof epochColumns)[number], Float64Array>>

/** New and changed entries, as columns in ascending order of index. */
export interface RegistryChanges extends EpochColumns, ValidatorKeys {
  readonly index: Int32Array
}

/** The fields of a beacon state that are in the registry. */
export type RegistrySnapshot = EpochColumns & ValidatorKeys & Pick<Validators, 'count'>

export const takeRegistrySnapshot = (state: Validators): RegistrySnapshot => {
  const { count, pubkeys, credentials, eligible, activation, exit, withdrawable } = state
  return { count, pubkeys, credentials, eligible, activation, exit, withdrawable }
}

/** `before`: the previous snapshot, if any. `kept`: 1 for each validator to store; undefined: all of them. */
export function findRegistryChanges(
  validators: RegistrySnapshot,
  before: RegistrySnapshot | undefined,
  kept: Uint8Array | undefined,
): RegistryChanges {
  const changed = new Int32Array(validators.count)
  let count = 0
  for (let index = 0; index < validators.count; index++) {
    if (kept?.[index] !== 0 && isChanged(validators, before, index)) changed[count++] = index
  }
  const index = changed.slice(0, count)
  const epochs = recordFrom(epochColumns, (name) => Float64Array.from(index, (at) => validators[name][at] as number))
  return { index, ...selectValidatorKeys(validators, index), ...epochs }
}

function isChanged(now: RegistrySnapshot, before: RegistrySnapshot | undefined, index: number): boolean {
  if (!before) return true
  if (index >= before.count || epochColumns.some((name) => now[name][index] !== before[name][index])) return true
  return !hasSameCredentials(now, before, index)
}

export async function syncRegistry(state: State, network: Network, changes: RegistryChanges): Promise<void> {
  for (let from = 0; from < changes.index.length; from += rowsAtOnce) {
    const rows = await findUnstored(state, network, changes, { from, until: from + rowsAtOnce })
    const entries = rows.map((row) => toValidatorEntry(changes, row))
    if (entries.length > 0) await putValidators(state, network, entries)
    // SQLite never waits, so yield here: signals and calls must not wait for a million rows.
    await nextEventLoopTurn()
  }
}

type StoredRow = Readonly<Record<(typeof epochColumns)[number], number | null>> & {
  readonly index: number
  readonly pubkey: Uint8Array
  readonly address: Uint8Array | null
}

/** Those of these rows that differ from what is stored. Compares bytes, because there may be a million rows. */
async function findUnstored(
  state: StateReader,
  network: Network,
  changes: RegistryChanges,
  { from, until }: Range,
): Promise<number[]> {
  const indices = changes.index.subarray(from, until)
  const rows = await state.all<StoredRow>(
    `select validator_index as "index", pubkey, activation_eligibility_epoch as eligible, activation_epoch as activation,
       exit_epoch as "exit", withdrawable_epoch as withdrawable, withdrawal_address as address
     from validators where network = ? and validator_index in (select value from json_each(?))`,
    network,
    `[${indices.join()}]`,
  )
  const storedOf = new Map(rows.map((row) => [row.index, row]))
  const isStored = (row: number): boolean => {
    const stored = storedOf.get(changes.index[row] as number)
    if (!stored) return false
    const address = withdrawalAddressOf(changes, row)
    return (
      epochColumns.every((name) => (stored[name] ?? Number.POSITIVE_INFINITY) === changes[name][row]) &&
      Buffer.compare(stored.pubkey, pubkeyOf(changes, row)) === 0 &&
      (stored.address === null || address === undefined
        ? stored.address === null && address === undefined
        : Buffer.compare(stored.address, address) === 0)
    )
  }
  return Array.from(indices, (_, at) => from + at).filter((row) => !isStored(row))
}

export function toValidatorEntry(changes: RegistryChanges, row: number): ValidatorEntry {
  const epoch = (name: (typeof epochColumns)[number]) => {
    const at = changes[name][row] as number
    return Number.isFinite(at) ? at : null
  }
  const address = withdrawalAddressOf(changes, row)
  return {
    index: changes.index[row] as number,
    pubkey: toHex(pubkeyOf(changes, row)),
    activationEligibilityEpoch: epoch('eligible'),
    activationEpoch: epoch('activation'),
    exitEpoch: epoch('exit'),
    withdrawableEpoch: epoch('withdrawable'),
    withdrawalAddress: address ? toHex(address) : null,
  }
}
