// Reads the list of all validators that a node returns as JSON, for tests that compare it with a state.
import { figureOf, readFields, readList } from '#sources/beacon/json.ts'
import { bytesType } from '#sources/beacon/ssz-type.ts'
import { credentialsSize, pubkeySize } from '#sources/beacon/validator-keys.ts'
import type { Validators } from '#sources/beacon/validators.ts'

const pubkeyType = bytesType(pubkeySize)
const credentialsType = bytesType(credentialsSize)

/** The JSON list must be complete; its order does not matter. */
export function validatorsFromJson(data: unknown, increment: number): Omit<Validators, 'pending' | 'scores'> {
  const list = readList(data, 'validators')
  const count = list.length
  const columns = {
    count,
    balance: new Float64Array(count),
    increments: new Uint32Array(count),
    slashed: new Uint8Array(count),
    eligible: new Float64Array(count),
    activation: new Float64Array(count),
    exit: new Float64Array(count),
    withdrawable: new Float64Array(count),
  }
  const pubkeys = new Uint8Array(count * pubkeySize)
  const credentials = new Uint8Array(count * credentialsSize)
  const seen = new Uint8Array(count)
  for (const member of list) {
    const fields = readFields(member, 'validators')
    const validator = readFields(fields.validator, 'validator')
    const index = figureOf(fields.index, 'index')
    if (!(index < count) || seen[index] === 1) throw new Error(`the list of ${count} validators has gaps or duplicates`)
    seen[index] = 1
    pubkeys.set(pubkeyType.fromJson(validator.pubkey, 'pubkey'), index * pubkeySize)
    const record = credentialsType.fromJson(validator.withdrawal_credentials, 'withdrawal_credentials')
    credentials.set(record, index * credentialsSize)
    columns.balance[index] = figureOf(fields.balance, 'balance')
    columns.increments[index] = figureOf(validator.effective_balance, 'effective_balance') / increment
    columns.slashed[index] = validator.slashed === true ? 1 : 0
    columns.eligible[index] = figureOf(validator.activation_eligibility_epoch, 'activation_eligibility_epoch')
    columns.activation[index] = figureOf(validator.activation_epoch, 'activation_epoch')
    columns.exit[index] = figureOf(validator.exit_epoch, 'exit_epoch')
    columns.withdrawable[index] = figureOf(validator.withdrawable_epoch, 'withdrawable_epoch')
  }
  return { ...columns, pubkeys, credentials }
}
