// Brings the registry up to date from a state: only what has changed is written, so that a network of a million costs a
// million rows once and a handful per epoch after that. What has changed is found where states are read, and written
// where the stores are.
import type { Network } from '#api/wire/validators.ts'
import { hasSameCredentials, type Names, namesOf, pubkeyOf, withdrawalAddressOf } from '#io/beacon/names.ts'
import type { Validators } from '#io/beacon/validators.ts'
import { nextTurn } from '#io/clock.ts'
import type { State } from '#store/state.ts'
import { putValidators, toHex, type ValidatorEntry } from '../registry.ts'
import { linkDeposits } from './deposits.ts'

/** Rows in one transaction: others write, and are answered, in between. */
const rowsPerWrite = 1000

const epochs = ['eligible', 'activation', 'exit', 'withdrawable'] as const
type Epochs = Readonly<Record<(typeof epochs)[number], Float64Array>>

/** Entries that are new or different, as columns in rising order of index. */
export interface RegistryChanges extends Epochs, Names {
  readonly index: Int32Array
}

/** What of a state the registry knows. */
export type Enrolled = Epochs & Names & Pick<Validators, 'count'>

export const enrolledIn = (state: Validators): Enrolled => {
  const { count, pubkeys, credentials, eligible, activation, exit, withdrawable } = state
  return { count, pubkeys, credentials, eligible, activation, exit, withdrawable }
}

/** `before`: what was enrolled last, if anything. `kept`: those who are; undefined: everyone. */
export function changesOf(
  validators: Validators,
  before: Enrolled | undefined,
  kept: Uint8Array | undefined,
): RegistryChanges {
  const changed = new Int32Array(validators.count)
  let count = 0
  for (let index = 0; index < validators.count; index++) {
    if (kept?.[index] !== 0 && isChanged(validators, before, index)) changed[count++] = index
  }
  const index = changed.slice(0, count)
  const column = (name: (typeof epochs)[number]) => Float64Array.from(index, (at) => validators[name][at] as number)
  return {
    index,
    ...namesOf(validators, index),
    eligible: column('eligible'),
    activation: column('activation'),
    exit: column('exit'),
    withdrawable: column('withdrawable'),
  }
}

function isChanged(now: Validators, before: Enrolled | undefined, index: number): boolean {
  if (!before) return true
  if (index >= before.count || epochs.some((name) => now[name][index] !== before[name][index])) return true
  return !hasSameCredentials(now, before, index)
}

export async function enrol(state: State, network: Network, changes: RegistryChanges): Promise<void> {
  const { index } = changes
  for (let from = 0; from < index.length; from += rowsPerWrite) {
    const places = Array.from({ length: Math.min(rowsPerWrite, index.length - from) }, (_, at) => from + at)
    await putValidators(
      state,
      network,
      places.map((place) => entryOf(changes, place)),
    )
    const [first, last] = [index[from] as number, index[from + places.length - 1] as number]
    await linkDeposits(state, network, { from: first, until: last + 1 })
    // A million rows are written without ever waiting for anything; callers are not to wait for all of them.
    await nextTurn()
  }
}

function entryOf(changes: RegistryChanges, place: number): ValidatorEntry {
  const epoch = (name: (typeof epochs)[number]) => {
    const at = changes[name][place] as number
    return Number.isFinite(at) ? at : null
  }
  const address = withdrawalAddressOf(changes, place)
  return {
    index: changes.index[place] as number,
    pubkey: toHex(pubkeyOf(changes, place)),
    activationEligibilityEpoch: epoch('eligible'),
    activationEpoch: epoch('activation'),
    exitEpoch: epoch('exit'),
    withdrawableEpoch: epoch('withdrawable'),
    withdrawalAddress: address ? toHex(address) : null,
  }
}
