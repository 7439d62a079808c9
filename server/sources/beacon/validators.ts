// All validators of a network at one slot, as columns: a million validators take a few dozen megabytes instead of a
// million objects. They are read from the SSZ of a whole state.
import { type ConsensusRules, isForkFrom } from './consensus.ts'
import { type PayloadState, payloadStateFromSsz } from './payload-state.ts'
import { emptyPendingQueues, type PendingQueues, pendingFromState } from './pending.ts'
import { SszError, type View } from './ssz.ts'
import { forkOfState, stateOffsets, syncCommitteeBytes } from './state-layout.ts'
import { indicesOfKeys, pubkeySize, readValidatorKeys, type ValidatorKeys } from './validator-keys.ts'

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
  readonly pending: PendingQueues
  /** Since Gloas: builders and pending withdrawals. */
  readonly payloads?: PayloadState | undefined
  /** Inactivity scores. */
  readonly scores: Float64Array
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

/** The validator of each seat. `keys`: those of the same state. */
export function syncCommitteeFromSsz(view: View, rules: ConsensusRules, keys: ValidatorKeys): Uint32Array {
  const from = stateOffsets(rules).syncCommittees
  const committee = view.part(from, from + syncCommitteeBytes(rules))
  const seats = Array.from({ length: rules.syncCommitteeSize }, (_, seat) =>
    committee.hex(seat * pubkeySize, pubkeySize),
  )
  const indices = indicesOfKeys(keys, seats)
  return Uint32Array.from(seats, (pubkey) => {
    const index = indices.get(pubkey)
    if (index === undefined) throw new SszError(`the sync committee member ${pubkey} is not a validator`)
    return index
  })
}

export const isActiveAt = (
  validators: Pick<Validators, 'activation' | 'exit'>,
  index: number,
  epoch: number,
): boolean => (validators.activation[index] as number) <= epoch && epoch < (validators.exit[index] as number)
