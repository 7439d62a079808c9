// All validators of a network at one slot, as columns: a million validators take a few dozen megabytes instead of a
// million objects. They are read from the SSZ of a full state or from the JSON list.
import { type ConsensusRules, isForkFrom } from './consensus.ts'
import { type DutySeeds, dutySeedsFromState } from './duty-seeds.ts'
import { figureOf, readFields, readList } from './json.ts'
import { type PayloadState, payloadStateFromSsz } from './payload-state.ts'
import { emptyPendingQueues, type PendingQueues, pendingFromState } from './pending.ts'
import { SszError, type View } from './ssz.ts'
import { bytesType } from './ssz-type.ts'
import { forkOfState, stateOffsets } from './state-layout.ts'
import { credentialsSize, pubkeySize, readValidatorKeys, type ValidatorKeys } from './validator-keys.ts'

export interface Validators extends ValidatorKeys {
  readonly count: number
  /** Gwei. */
  readonly balance: Float64Array
  /** Effective balance in whole increments. */
  readonly increments: Uint32Array
  readonly slashed: Uint8Array
  /** Epochs; Infinity: not set. */
  readonly eligible: Float64Array
  readonly activation: Float64Array
  readonly exit: Float64Array
  readonly withdrawable: Float64Array
  /** Undefined if the source does not have them. */
  readonly pending?: PendingQueues | undefined
  /** Since Gloas: builders and pending withdrawals. Undefined before, and if the source does not have them. */
  readonly payloads?: PayloadState | undefined
  /** Inactivity scores; undefined if the source does not have them. */
  readonly scores?: Float64Array | undefined
  /** Undefined if the source does not have them. */
  readonly seeds?: DutySeeds | undefined
}

const emptyOf = (count: number) => ({
  count,
  balance: new Float64Array(count),
  increments: new Uint32Array(count),
  slashed: new Uint8Array(count),
  eligible: new Float64Array(count),
  activation: new Float64Array(count),
  exit: new Float64Array(count),
  withdrawable: new Float64Array(count),
})

const recordSize = 121

export interface StateParts {
  readonly slot: number
  readonly finalizedEpoch: number
  readonly validators: Validators
}

/** `previous`: the keys of an earlier state of the same chain, to share memory with. */
export function stateFromSsz(view: View, rules: ConsensusRules, previous?: ValidatorKeys): StateParts {
  const at = stateOffsets(rules)
  const records = view.variable(at.validators, at.balances)
  const balances = view.variable(at.balances, at.participation)
  const count = records.length / recordSize
  if (!Number.isInteger(count) || balances.length !== count * 8) {
    throw new SszError(`${records.length} bytes of validators do not match ${balances.length} bytes of balances`)
  }
  // The field after the scores depends on the fork, so the end of the scores follows from the number of validators.
  const scoresFrom = view.u32(at.scores)
  const scores = view.part(scoresFrom, scoresFrom + count * 8)
  const fork = forkOfState(view, rules)
  return {
    slot: view.u64(at.slot),
    finalizedEpoch: view.u64(at.finalized),
    validators: {
      ...fromRecords(records, balances, scores, count, rules.increment),
      ...readValidatorKeys(records.bytes, recordSize, count, previous),
      pending: isForkFrom(fork, 'electra') ? pendingFromState(view, rules, fork) : emptyPendingQueues,
      seeds: dutySeedsFromState(view, rules),
      ...(isForkFrom(fork, 'gloas') && { payloads: payloadStateFromSsz(view, rules) }),
    },
  }
}

function fromRecords(records: View, balances: View, scores: View, count: number, increment: number) {
  const columns = emptyOf(count)
  const score = new Float64Array(count)
  const { bytes } = records
  for (let index = 0, at = 0; index < count; index++, at += recordSize) {
    columns.increments[index] = records.u64(at + 80) / increment
    columns.slashed[index] = bytes[at + 88] as number
    columns.eligible[index] = records.u64(at + 89)
    columns.activation[index] = records.u64(at + 97)
    columns.exit[index] = records.u64(at + 105)
    columns.withdrawable[index] = records.u64(at + 113)
    columns.balance[index] = balances.u64(index * 8)
    score[index] = scores.u64(index * 8)
  }
  return { ...columns, scores: score }
}

const pubkeyType = bytesType(pubkeySize)
const credentialsType = bytesType(credentialsSize)

/** The JSON list must be complete; its order does not matter. */
export function validatorsFromJson(data: unknown, increment: number): Validators {
  const list = readList(data, 'validators')
  const count = list.length
  const columns = emptyOf(count)
  const pubkeys = new Uint8Array(count * pubkeySize)
  const credentials = new Uint8Array(count * credentialsSize)
  const seen = new Uint8Array(count)
  for (const member of list) {
    const fields = readFields(member, 'validators')
    const validator = readFields(fields.validator, 'validator')
    const index = figureOf(fields.index, 'index')
    if (!(index < count) || seen[index] === 1)
      throw new SszError(`the list of ${count} validators has gaps or duplicates`)
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

export const isActiveAt = (
  validators: Pick<Validators, 'activation' | 'exit'>,
  index: number,
  epoch: number,
): boolean => (validators.activation[index] as number) <= epoch && epoch < (validators.exit[index] as number)
