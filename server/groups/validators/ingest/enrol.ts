// Brings the registry up to date from a state: only what has changed is written, so that a network of a million costs a
// million rows once and a handful per epoch after that.
import type { Network } from '#api/wire/validators.ts'
import { hasSameCredentials, pubkeyOf, type Validators, withdrawalAddressOf } from '#io/beacon/validators.ts'
import type { State } from '#store/state.ts'
import { putValidators, toHex, type ValidatorEntry } from '../registry.ts'

/** Rows in one transaction: others write in between. */
const rowsPerWrite = 5000

const epochs = ['eligible', 'activation', 'exit', 'withdrawable'] as const

/** `before`: what was enrolled last, if anything. `kept`: those who are; undefined: everyone. */
export async function enrol(
  state: State,
  network: Network,
  validators: Validators,
  before: Validators | undefined,
  kept: Uint8Array | undefined,
): Promise<number> {
  let entries: ValidatorEntry[] = []
  let count = 0
  const flush = async () => {
    if (entries.length > 0) await putValidators(state, network, entries)
    count += entries.length
    entries = []
  }
  for (let index = 0; index < validators.count; index++) {
    if (kept?.[index] === 0 || !isChanged(validators, before, index)) continue
    entries.push(entryOf(validators, index))
    if (entries.length === rowsPerWrite) await flush()
  }
  await flush()
  return count
}

function isChanged(now: Validators, before: Validators | undefined, index: number): boolean {
  if (!before || before === now) return !before
  if (index >= before.count || epochs.some((name) => now[name][index] !== before[name][index])) return true
  return !hasSameCredentials(now, before, index)
}

function entryOf(validators: Validators, index: number): ValidatorEntry {
  const epoch = (name: (typeof epochs)[number]) => {
    const at = validators[name][index] as number
    return Number.isFinite(at) ? at : null
  }
  const address = withdrawalAddressOf(validators, index)
  return {
    index,
    pubkey: toHex(pubkeyOf(validators, index)),
    activationEligibilityEpoch: epoch('eligible'),
    activationEpoch: epoch('activation'),
    exitEpoch: epoch('exit'),
    withdrawableEpoch: epoch('withdrawable'),
    withdrawalAddress: address ? toHex(address) : null,
  }
}
