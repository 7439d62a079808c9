// The calls that the server makes to the chain process of a network, with what they take and return. Everything here can
// be sent between processes. ./README.md explains how the calls belong together.
import type { Fork } from '#sources/beacon/consensus.ts'
import type { PayloadState } from '#sources/beacon/payload-state.ts'
import type { PendingQueues } from '#sources/beacon/pending.ts'

/** 32 bytes as 0x text, in lower case. */
export type Root = string

export type EngineName = 'typescript' | 'native'

/** Which signatures of a block are verified. `none` is for recordings without real signatures. */
export type Signatures = 'all' | 'proposer' | 'none'

/** What a chain process is started with. The library keeps it until the process ends. */
export interface ChainStart {
  /** The response of `/eth/v1/config/spec`. */
  readonly spec: Readonly<Record<string, unknown>>
  /** `genesis_validators_root` of `/eth/v1/beacon/genesis`. */
  readonly genesisValidatorsRoot: Root
  /** `auto`: native if the network and this machine allow it (./choose-engine.ts). */
  readonly engine: EngineName | 'auto'
}

/** The states of the newest blocks, and those of a part of the past, are computed in the same process. */
export type Cursor = 'head' | 'past'

export interface BlockId {
  readonly slot: number
  readonly root: Root
}

export interface Checkpoint {
  readonly epoch: number
  readonly root: Root
}

/** The state after a block, as its parent process knows it. */
export interface BlockState extends BlockId {
  readonly parentRoot: Root
  readonly stateRoot: Root
  readonly justified: Checkpoint
  readonly finalized: Checkpoint
}

export interface LoadedState {
  readonly engine: EngineName
  /** Of the state, which may be after its latest block. */
  readonly slot: number
  readonly stateRoot: Root
  /** The latest block of the state: the parent of the next block. */
  readonly block: BlockId
  readonly justified: Checkpoint
  readonly finalized: Checkpoint
  readonly validators: number
}

/**
 * Names an epoch start: the state at the first slot of the epoch, on the branch of this block. `root` is the newest block
 * at or before that slot. If the block is of an earlier slot, the state is advanced to the first slot of the epoch.
 */
export interface EpochStartId {
  readonly epoch: number
  readonly root: Root
}

export interface AcceptedBlock extends BlockState {
  readonly is: 'accepted'
  /** The epoch starts that exist since this block, in ascending order. `epochStart` reads them. */
  readonly epochStarts: readonly EpochStartId[]
}

/**
 * - `malformed`: it cannot be decoded, or is too long.
 * - `other-root`: it is another block than the one that was asked for.
 * - `future`: its slot has not begun.
 * - `unknown-parent`: the state of its parent is not held. Process the parent first.
 * - `old-slot`: its slot is not after that of its parent.
 * - `wrong-proposer`, `wrong-signature`: it is not of the proposer of its slot.
 * - `invalid`: it breaks a rule of the chain.
 * - `other-state`: the computed state has another root than the block says.
 */
export type RefusalReason =
  | 'malformed'
  | 'other-root'
  | 'future'
  | 'unknown-parent'
  | 'old-slot'
  | 'wrong-proposer'
  | 'wrong-signature'
  | 'invalid'
  | 'other-state'

export interface RefusedBlock {
  readonly is: 'refused'
  readonly reason: RefusalReason
  readonly message: string
  /** If it could be decoded. */
  readonly block?: BlockId & { readonly parentRoot: Root }
  /** With `other-state`: the root in the block, and that of the computed state. */
  readonly stateRoots?: { readonly stated: Root; readonly computed: Root }
}

export interface ProcessBlockInput {
  /** The signed block as SSZ. */
  readonly bytes: Uint8Array
  /** The root that was asked for; undefined: any. */
  readonly root: Root | undefined
  /** The newest slot that may have begun, by the clock of the server. */
  readonly newestSlot: number
  readonly signatures: Signatures
}

/** What an epoch start gives to the figures. Lists are concatenated SSZ, as in the state. */
export interface EpochStartMessage {
  readonly epoch: number
  readonly fork: Fork
  readonly stateRoot: Root
  /** The newest block at or before the first slot of the epoch. */
  readonly block: BlockId
  /** Number of validators. */
  readonly count: number
  /** Of all validators: 8 bytes each. */
  readonly balances: Uint8Array
  /**
   * The records of validators (121 bytes each) that differ from those of the base, new ones included. Undefined: the base
   * is not known; read all of them with `validatorRecords`.
   */
  readonly changes: { readonly indices: Uint32Array; readonly records: Uint8Array } | undefined
  /** Inactivity scores that are not 0. */
  readonly scores: { readonly indices: Uint32Array; readonly values: Float64Array }
  /** Of this epoch: members of all committees in order, and how many each committee has. */
  readonly committees: { readonly members: Uint32Array; readonly lengths: Uint32Array; readonly perSlot: number }
  /** Of this epoch, by slot. −1: the slot has no proposer (genesis). */
  readonly proposers: Int32Array
  /** Of this epoch: the validator of each seat of the sync committee. */
  readonly sync: Uint32Array
  readonly previousJustified: Checkpoint
  readonly justified: Checkpoint
  readonly finalized: Checkpoint
  readonly pending: PendingQueues
  /** Since Electra: queue of partial withdrawals. */
  readonly partialWithdrawals: Uint8Array
  /** Since Gloas. */
  readonly payloads: PayloadState | undefined
}

export interface SavedState {
  readonly stateRoot: Root
  readonly block: BlockId
  readonly slot: number
  readonly validators: number
  /** Of the file. */
  readonly bytes: number
}

export interface ChainStatus {
  readonly engine: EngineName | undefined
  readonly rssBytes: number
  /** Block roots of the states that are held, oldest first. */
  readonly states: readonly BlockId[]
  readonly epochStarts: readonly EpochStartId[]
}

/** A call of a cursor: what it takes, and what it returns. */
interface Operation<Input, Output> {
  readonly input: Input
  readonly output: Output
}

export interface ChainOperations {
  /**
   * Loads a state from a file: SSZ, or SSZ compressed with zstd. It replaces all states of the cursor. Throws if the root
   * of the state is another one than `stateRoot`; undefined: any. The decoded keys that `saveState` has written are used,
   * unless they are missing, damaged, or of another chain.
   */
  loadState: Operation<{ readonly file: string; readonly stateRoot: Root | undefined }, LoadedState>
  /** Verifies a block, computes the state after it, and holds that state. */
  processBlock: Operation<ProcessBlockInput, AcceptedBlock | RefusedBlock>
  /** Advances a branch to the first slot of an epoch without a block there, and holds that state. */
  advance: Operation<EpochStartId, EpochStartId>
  /**
   * Reads an epoch start. `base`: the state root of an epoch start that the caller has; the answer has only what changed
   * since. The cursor remembers the last one.
   */
  epochStart: Operation<EpochStartId & { readonly base?: Root | undefined }, EpochStartMessage>
  /** Validator records of an epoch start that was just read, in parts. */
  validatorRecords: Operation<{ readonly stateRoot: Root; readonly from: number; readonly until: number }, Uint8Array>
  /** Bytes of fields of the state after a block, by their names in the specification in camel case. */
  stateFields: Operation<
    { readonly root: Root; readonly fields: readonly string[] },
    Readonly<Record<string, Uint8Array>>
  >
  /**
   * Writes a state to a file, compressed with zstd. The file is complete or absent. Without `epoch`: after the block. The
   * decoded public keys of all validators are a file beside it, if the engine can write them. With it, `loadState` takes a
   * tenth of the time.
   */
  saveState: Operation<{ readonly root: Root; readonly epoch?: number | undefined; readonly file: string }, SavedState>
  /** Drops all states of the cursor. */
  unload: Operation<undefined, void>
  /** Drops the states of blocks and epoch starts that are before the epoch, except the newest of each. */
  dropBefore: Operation<{ readonly epoch: number }, ChainStatus>
  status: Operation<undefined, ChainStatus>
}

export type OperationName = keyof ChainOperations
export type InputOf<Name extends OperationName> = ChainOperations[Name]['input']
export type OutputOf<Name extends OperationName> = ChainOperations[Name]['output']

/** From the server to the process. */
export type ChainRequest =
  | { readonly is: 'start'; readonly start: ChainStart }
  | {
      readonly is: 'call'
      readonly id: number
      readonly cursor: Cursor
      readonly name: OperationName
      readonly input: unknown
    }

/** From the process to the server. */
export type ChainReply =
  | { readonly is: 'ready' }
  | { readonly is: 'value'; readonly id: number; readonly value: unknown }
  | {
      readonly is: 'error'
      readonly id: number | undefined
      readonly name: string
      readonly message: string
      readonly stack?: string
    }
