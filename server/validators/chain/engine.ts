// What the chain process needs of a library that computes states. The two implementations are ./typescript-engine.ts and
// ./native-engine.ts. States are immutable: every operation returns a new one, which shares memory with the old one.
import type { SignedBeaconBlock } from '@lodestar/types'
import type { EngineName } from './messages.ts'

export interface EngineCheckpoint {
  readonly epoch: number
  readonly root: Uint8Array
}

/** Committees of an epoch: by slot of the epoch, then by committee. */
export type EngineCommittees = readonly (readonly Uint32Array[])[]

export interface EngineState {
  readonly slot: number
  readonly validatorCount: number
  readonly latestBlockHeader: {
    readonly slot: number
    readonly proposerIndex: number
    readonly parentRoot: Uint8Array
    readonly stateRoot: Uint8Array
    readonly bodyRoot: Uint8Array
  }
  readonly previousJustifiedCheckpoint: EngineCheckpoint
  readonly currentJustifiedCheckpoint: EngineCheckpoint
  readonly finalizedCheckpoint: EngineCheckpoint
  /** Of the epoch of the state, by slot. */
  readonly proposers: readonly number[]
  readonly committees: EngineCommittees
  /** By seat. */
  readonly syncCommittee: ArrayLike<number>
  root(): Uint8Array
  /** All of the state as SSZ. Callers read fields of it by their ranges. */
  serialize(): Uint8Array
  /** The state at a later slot without a block, with the epoch transitions up to it. */
  advance(slot: number): EngineState
  /** The state after the block. The root of the result is not compared, and the proposer's signature is not verified. */
  process(block: SignedBeaconBlock, verifiesSignatures: boolean): EngineState
  /** Frees the memory that no other state shares. */
  release(): void
}

/** Decoded public keys, which all states of an engine share. `save` and `load` are missing if they cannot be in a file. */
export interface EngineKeys {
  count(): number
  /** Only while no state is loaded. */
  forget(): void
  readonly save?: (file: string) => void
  /**
   * Must be called before a state is loaded. `countMax`: of keys in the file. `pubkeys`: those of the state, concatenated;
   * of the two lists, one must begin with the other.
   */
  readonly load?: (file: string, countMax: number, pubkeys: Uint8Array) => void
}

export interface Engine {
  readonly name: EngineName
  /** `slot`: of the state. */
  load(bytes: Uint8Array, slot: number): EngineState
  /** Whether it has the rules for a slot. */
  knows(slot: number): boolean
  readonly keys: EngineKeys
  /** The proposer's signature. The state has the key of the proposer. */
  verifyProposer(block: SignedBeaconBlock): boolean
}
