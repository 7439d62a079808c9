// Reads what the figures need from the state at the start of an epoch. The state is encoded once, and its fields are read
// by their ranges: the library has no faster access to all validators.

import { ContainerType, ProgressiveContainerType } from '@chainsafe/ssz'
import type { BeaconConfig } from '@lodestar/config'
import { epochOfSlot } from '#core/chain-time.ts'
import { type ConsensusRules, type Fork, isForkFrom } from '#sources/beacon/consensus.ts'
import { payloadStateFromSsz } from '#sources/beacon/payload-state.ts'
import { View } from '#sources/beacon/ssz.ts'
import { pubkeySize } from '#sources/beacon/validator-keys.ts'
import { rootText } from './check-block.ts'
import type { EngineCheckpoint, EngineState } from './engine.ts'
import type { BlockId, Checkpoint, EpochStartMessage, Root } from './messages.ts'

export const recordSize = 121
/** Records are compared in groups, because most have not changed. */
const groupBytes = 64 * recordSize

/** The bytes of a state by field. They are views of one array. */
export type StateBytes = (field: string) => Uint8Array

export function fieldsOf(config: BeaconConfig, state: EngineState): StateBytes {
  const bytes = state.serialize()
  return (field) => fieldIn(config, state.slot, bytes, field)
}

function fieldIn(config: BeaconConfig, slot: number, bytes: Uint8Array, field: string): Uint8Array {
  const type: unknown = config.getForkTypes(slot).BeaconState
  if (!(type instanceof ContainerType || type instanceof ProgressiveContainerType))
    throw new Error(`states of slot ${slot} are not containers`)
  const at = Object.keys(type.fields).indexOf(field)
  const data = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  const range = type.getFieldRanges(data, 0, bytes.length)[at]
  return range ? bytes.subarray(range.start, range.end) : new Uint8Array(0)
}

/** The number of validators in the bytes of a state. */
export const validatorsIn = (config: BeaconConfig, slot: number, bytes: Uint8Array): number =>
  fieldIn(config, slot, bytes, 'validators').length / recordSize

/** The public keys of all validators in the bytes of a state, concatenated. */
export function pubkeysIn(config: BeaconConfig, slot: number, bytes: Uint8Array): Uint8Array {
  const records = fieldIn(config, slot, bytes, 'validators')
  const count = records.length / recordSize
  const pubkeys = new Uint8Array(count * pubkeySize)
  for (let index = 0; index < count; index++)
    pubkeys.set(records.subarray(index * recordSize, index * recordSize + pubkeySize), index * pubkeySize)
  return pubkeys
}

export const checkpointOf = ({ epoch, root }: EngineCheckpoint): Checkpoint => ({ epoch, root: rootText(root) })

/** Remembers the validator records of the last epoch start, to find out which have changed. */
export class EpochStartReader {
  readonly #config: BeaconConfig
  readonly #rules: ConsensusRules
  #last: { readonly stateRoot: Root; readonly records: Uint8Array } | undefined

  constructor(config: BeaconConfig, rules: ConsensusRules) {
    this.#config = config
    this.#rules = rules
  }

  read(state: EngineState, block: BlockId, base: Root | undefined): EpochStartMessage {
    const bytes = state.serialize()
    const field = (name: string) => fieldIn(this.#config, state.slot, bytes, name)
    const copy = (name: string) => field(name).slice()
    const records = field('validators')
    const stateRoot = rootText(state.root())
    const before = base !== undefined && base === this.#last?.stateRoot ? this.#last.records : undefined
    const fork = this.#config.getForkName(state.slot) as Fork
    const epoch = epochOfSlot(this.#rules, state.slot)
    const message: EpochStartMessage = {
      epoch,
      fork,
      stateRoot,
      block,
      count: records.length / recordSize,
      balances: copy('balances'),
      changes: before && changedRecords(before, records),
      scores: scoresIn(field('inactivityScores')),
      committees: committeesOf(state),
      proposers: Int32Array.from(state.proposers, (proposer, slot) => (epoch === 0 && slot === 0 ? -1 : proposer)),
      sync: Uint32Array.from(state.syncCommittee),
      previousJustified: checkpointOf(state.previousJustifiedCheckpoint),
      justified: checkpointOf(state.currentJustifiedCheckpoint),
      finalized: checkpointOf(state.finalizedCheckpoint),
      pending: { deposits: copy('pendingDeposits'), consolidations: copy('pendingConsolidations') },
      partialWithdrawals: copy('pendingPartialWithdrawals'),
      payloads: isForkFrom(fork, 'gloas') ? payloadStateFromSsz(new View(bytes), this.#rules) : undefined,
    }
    this.#last = { stateRoot, records: records.slice() }
    return message
  }

  records(stateRoot: Root, from: number, until: number): Uint8Array {
    if (this.#last?.stateRoot !== stateRoot)
      throw new Error(`the epoch start with the state root ${stateRoot} is not the last one that was read`)
    return this.#last.records.slice(from * recordSize, until * recordSize)
  }

  clear(): void {
    this.#last = undefined
  }
}

function changedRecords(before: Uint8Array, after: Uint8Array): EpochStartMessage['changes'] {
  const [old, now] = [Buffer.from(before.buffer, before.byteOffset, before.length), after]
  const changed: number[] = []
  for (let from = 0; from < now.length; from += groupBytes) {
    const until = Math.min(from + groupBytes, now.length)
    if (until <= old.length && old.compare(now, from, until, from, until) === 0) continue
    for (let at = from; at < until; at += recordSize)
      if (at + recordSize > old.length || old.compare(now, at, at + recordSize, at, at + recordSize) !== 0)
        changed.push(at / recordSize)
  }
  const records = new Uint8Array(changed.length * recordSize)
  for (const [at, index] of changed.entries())
    records.set(now.subarray(index * recordSize, (index + 1) * recordSize), at * recordSize)
  return { indices: Uint32Array.from(changed), records }
}

function scoresIn(bytes: Uint8Array): EpochStartMessage['scores'] {
  const view = new View(bytes)
  const indices: number[] = []
  for (let index = 0; index < bytes.length / 8; index++) if (view.u64(index * 8) !== 0) indices.push(index)
  return { indices: Uint32Array.from(indices), values: Float64Array.from(indices, (index) => view.u64(index * 8)) }
}

function committeesOf({ committees }: EngineState): EpochStartMessage['committees'] {
  const flat = committees.flat()
  const members = new Uint32Array(flat.reduce((sum, { length }) => sum + length, 0))
  let at = 0
  for (const committee of flat) {
    members.set(committee, at)
    at += committee.length
  }
  return { members, lengths: Uint32Array.from(flat, ({ length }) => length), perSlot: committees[0]?.length ?? 0 }
}
