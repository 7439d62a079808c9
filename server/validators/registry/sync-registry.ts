// Updates the registry from a beacon state. Only changes are written: a network of a million validators writes a
// million rows once, and a few per epoch later. Changes are found on the thread that reads states, and written on the
// main thread.

import type { Network } from '#api/contract/wire/validators.ts'
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
import type { State } from '#storage/state.ts'
import { linkDeposits } from './link-deposits.ts'
import { putValidators, toHex, type ValidatorEntry } from './registry.ts'

/** Rows per transaction, so that other writes and requests can run in between. */
const rowsPerWrite = 1000

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
  validators: Validators,
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

function isChanged(now: Validators, before: RegistrySnapshot | undefined, index: number): boolean {
  if (!before) return true
  if (index >= before.count || epochColumns.some((name) => now[name][index] !== before[name][index])) return true
  return !hasSameCredentials(now, before, index)
}

export async function syncRegistry(state: State, network: Network, changes: RegistryChanges): Promise<void> {
  const { index } = changes
  for (let from = 0; from < index.length; from += rowsPerWrite) {
    const rows = Array.from({ length: Math.min(rowsPerWrite, index.length - from) }, (_, at) => from + at)
    await putValidators(
      state,
      network,
      rows.map((row) => toValidatorEntry(changes, row)),
    )
    const [first, last] = [index[from] as number, index[from + rows.length - 1] as number]
    await linkDeposits(state, network, { from: first, until: last + 1 })
    // SQLite never waits, so yield here: signals and calls must not wait for a million rows.
    await nextEventLoopTurn()
  }
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
