// Computes the states of one network from its blocks, in the chain process. The calls are those of ./messages.ts.
//
// 1. Only a state whose root its block states is held. So every answer is proven by the root of a block.
// 2. The epoch starts between a block and its parent are held with the block.
// 3. Each cursor has a chain of its own. The engines, with the decoded keys of all validators, are shared.
import { dirname } from 'node:path'
import { type BeaconConfig, chainConfigFromJson, createBeaconConfig } from '@lodestar/config'
import { ssz } from '@lodestar/types'
import { type ChainTime, epochOfSlot, firstSlotOf } from '#core/chain-time.ts'
import { type ConsensusRules, readRules } from '#sources/beacon/consensus.ts'
import { View } from '#sources/beacon/ssz.ts'
import { type DecodedBlock, decodeBlock, Refusal, rootText } from './check-block.ts'
import { checkConstants } from './check-constants.ts'
import { Engines } from './choose-engine.ts'
import type { Engine, EngineState } from './engine.ts'
import { HeldStates, type HeldStatesLimits } from './held-states.ts'
import type {
  AcceptedBlock,
  BlockId,
  ChainStart,
  ChainStatus,
  Cursor,
  EpochStartId,
  InputOf,
  LoadedState,
  OperationName,
  OutputOf,
  ProcessBlockInput,
  RefusedBlock,
  Root,
  SavedState,
} from './messages.ts'
import { checkpointOf, EpochStartReader, fieldsOf, pubkeysIn, validatorsIn } from './read-epoch-start.ts'
import {
  findKeysFile,
  isIntactKeysFile,
  type KeysFile,
  keysOfState,
  readStateFile,
  writeKeysFile,
  writeStateFile,
} from './state-files.ts'

/** A state begins with the genesis time, the genesis validators root and the slot. */
const stateSlotAt = 8 + 32
/** The file with keys is written again when it has less than this part of them. */
const keysShareMin = 0.99

type ChainHandlers = {
  readonly [Name in OperationName]: (input: InputOf<Name>) => Promise<OutputOf<Name>> | OutputOf<Name>
}

/** How many states a cursor holds. Only the head has branches. */
const limitsOf: Readonly<Record<Cursor, HeldStatesLimits>> = {
  head: { blockStates: 64, epochStarts: 32 },
  past: { blockStates: 32, epochStarts: 4 },
}

/** The chain of each cursor, created with its first call. Throws if the node follows other rules than the library. */
export function createChains(start: ChainStart): (cursor: Cursor) => Chain {
  checkConstants(start.spec)
  // Lists that are not settings of the chain, such as BLOB_SCHEDULE before Fulu, may be missing.
  const chainConfig = chainConfigFromJson(start.spec as Record<string, string>)
  const config = createBeaconConfig(chainConfig, Buffer.from(start.genesisValidatorsRoot.slice(2), 'hex'))
  const engines = new Engines(config, start.engine)
  const chains = new Map<Cursor, Chain>()
  return (cursor) =>
    chains.getOrInsertComputed(
      cursor,
      () => new Chain(config, readRules(start.spec), engines, new HeldStates(limitsOf[cursor])),
    )
}

export class Chain implements ChainHandlers {
  readonly #config: BeaconConfig
  readonly #time: Pick<ChainTime, 'slotsPerEpoch'>
  readonly #engines: Engines
  readonly #states: HeldStates
  readonly #reader: EpochStartReader
  #engine: Engine | undefined

  constructor(config: BeaconConfig, rules: ConsensusRules, engines: Engines, states: HeldStates) {
    this.#config = config
    this.#time = rules
    this.#engines = engines
    this.#states = states
    this.#reader = new EpochStartReader(config, rules)
  }

  async loadState({ file, stateRoot: expected }: InputOf<'loadState'>): Promise<LoadedState> {
    const bytes = await readStateFile(file)
    const slot = new View(bytes).u64(stateSlotAt)
    this.unload()
    const engine = await this.#engines.open(slot, validatorsIn(this.#config, slot, bytes))
    const hadNoKeys = engine.keys.count() === 0
    const keys = hadNoKeys ? await keysOfState(file) : undefined
    if (keys && (await isIntactKeysFile(keys))) {
      try {
        engine.keys.load?.(keys.file, keys.count, pubkeysIn(this.#config, slot, bytes))
      } catch {
        // Of another chain. The keys are decoded from the state instead.
      }
    }
    const state = engine.load(bytes, slot)
    const stateRoot = rootText(state.root())
    if (expected !== undefined && stateRoot !== expected) {
      state.release()
      if (hadNoKeys) engine.keys.forget()
      throw new Error(`the state of slot ${slot} has the root ${stateRoot}, not ${expected}`)
    }
    this.#engine = engine
    const block = latestBlockOf(state)
    // A state after empty slots has no block with its root. It is the parent of the next block all the same.
    this.#states.addBlock({ ...block, parentRoot: rootText(state.latestBlockHeader.parentRoot), state })
    this.#holdIfEpochStart(state, block)
    return {
      engine: engine.name,
      slot,
      stateRoot,
      block,
      justified: checkpointOf(state.currentJustifiedCheckpoint),
      finalized: checkpointOf(state.finalizedCheckpoint),
      validators: state.validatorCount,
    }
  }

  #holdIfEpochStart(state: EngineState, block: BlockId): EpochStartId[] {
    const epoch = epochOfSlot(this.#time, state.slot)
    if (state.slot !== firstSlotOf(this.#time, epoch)) return []
    const id = { epoch, root: block.root }
    this.#states.addEpochStart({ ...id, state }, state.currentJustifiedCheckpoint.epoch)
    return [id]
  }

  async processBlock(input: ProcessBlockInput): Promise<AcceptedBlock | RefusedBlock> {
    try {
      return await this.#process(input)
    } catch (error) {
      if (error instanceof Refusal) return error.refused
      throw error
    }
  }

  async #process(input: ProcessBlockInput): Promise<AcceptedBlock> {
    const block = decodeBlock(this.#config, input)
    const known = this.#states.block(block.root)
    if (known) return this.#accepted(block, known.state, this.#states.epochStarts().filter(isOf(block.root)))
    const parent = this.#states.latestWithBlock(block.parentRoot, block.slot)
    if (!parent) throw new Refusal('unknown-parent', `the state of the parent ${block.parentRoot} is not held`, block)
    if (parent.latestBlockHeader.slot >= block.slot)
      throw new Refusal('old-slot', `slot ${block.slot} is not after the parent of slot ${parent.slot}`, block)
    // Before the state is advanced, which takes seconds for each epoch of a large network.
    const engine = this.#loadedEngine()
    if (input.signatures !== 'none' && !isValid(() => engine.verifyProposer(block.signed)))
      throw new Refusal('wrong-signature', `the block of slot ${block.slot} is not signed by its proposer`, block)
    const { state: before, epochStarts, isTemporary } = this.#advanceTo(await this.#withRulesFor(block, parent), block)
    try {
      this.#verifyProposer(block, before)
      const state = applyBlock(before, block, input.signatures === 'all')
      this.#states.addBlock({ slot: block.slot, root: block.root, parentRoot: block.parentRoot, state })
      return this.#accepted(block, state, [...epochStarts, ...this.#holdIfEpochStart(state, block)])
    } finally {
      if (isTemporary) before.release()
    }
  }

  #verifyProposer(block: DecodedBlock, before: EngineState): void {
    const { proposerIndex } = block.signed.message
    const proposer = before.proposers[block.slot % this.#time.slotsPerEpoch]
    if (proposerIndex === proposer) return
    throw new Refusal(
      'wrong-proposer',
      `the proposer of slot ${block.slot} is ${proposer}, not ${proposerIndex}`,
      block,
    )
  }

  #accepted(block: DecodedBlock, state: EngineState, epochStarts: readonly EpochStartId[]): AcceptedBlock {
    const { slot, root, parentRoot, stateRoot } = block
    return {
      is: 'accepted',
      ...{ slot, root, parentRoot, stateRoot },
      justified: checkpointOf(state.currentJustifiedCheckpoint),
      finalized: checkpointOf(state.finalizedCheckpoint),
      epochStarts,
    }
  }

  /** Advances the state of the parent up to the start of the block's epoch, which has the proposer of the block. */
  #advanceTo(parent: EngineState, { slot, parentRoot }: Pick<DecodedBlock, 'slot' | 'parentRoot'>) {
    const epochStarts: EpochStartId[] = []
    const epochSlot = firstSlotOf(this.#time, epochOfSlot(this.#time, slot))
    let state = parent
    while (state.slot < epochSlot) {
      const epoch = epochOfSlot(this.#time, state.slot) + 1
      const nextSlot = firstSlotOf(this.#time, epoch)
      state = state.advance(nextSlot)
      // An epoch that begins with this block has another start: the state after the block.
      if (nextSlot === slot) return { state, epochStarts, isTemporary: true }
      const id = { epoch, root: parentRoot }
      this.#states.addEpochStart({ ...id, state }, state.currentJustifiedCheckpoint.epoch)
      epochStarts.push(id)
    }
    return { state, epochStarts, isTemporary: false }
  }

  /** The same state in an engine that has the rules for the block. Crossing into a fork may need another engine. */
  async #withRulesFor({ slot }: DecodedBlock, parent: EngineState): Promise<EngineState> {
    if (this.#loadedEngine().knows(slot)) return parent
    const bytes = parent.serialize()
    const block = latestBlockOf(parent)
    const engine = await this.#engines.open(slot, parent.validatorCount)
    this.unload()
    this.#engine = engine
    const state = engine.load(bytes, parent.slot)
    this.#states.addBlock({ ...block, parentRoot: rootText(state.latestBlockHeader.parentRoot), state })
    return state
  }

  #loadedEngine(): Engine {
    if (!this.#engine) throw new Error('no state is loaded')
    return this.#engine
  }

  advance({ epoch, root }: EpochStartId): EpochStartId {
    const slot = firstSlotOf(this.#time, epoch)
    const state = this.#states.latestWithBlock(root, slot)
    if (!state) throw new Error(`the state of the block ${root} is not held`)
    if (state.slot > slot) throw new Error(`the block ${root} is after the start of epoch ${epoch}`)
    if (state.slot === slot) this.#states.addEpochStart({ epoch, root, state }, state.currentJustifiedCheckpoint.epoch)
    // As if a block of the next slot were processed.
    else this.#advanceTo(state, { slot: slot + 1, parentRoot: root })
    return { epoch, root }
  }

  epochStart({ epoch, root, base }: InputOf<'epochStart'>) {
    const state = this.#states.epochStart({ epoch, root })
    if (!state) throw new Error(`the start of epoch ${epoch} after the block ${root} is not held`)
    return this.#reader.read(state, latestBlockOf(state), base)
  }

  validatorRecords({ stateRoot, from, until }: InputOf<'validatorRecords'>): Uint8Array {
    return this.#reader.records(stateRoot, from, until)
  }

  stateFields({ root, fields }: InputOf<'stateFields'>): Readonly<Record<string, Uint8Array>> {
    const field = fieldsOf(this.#config, this.#heldState(root, undefined))
    return Object.fromEntries(fields.map((name) => [name, field(name).slice()]))
  }

  async saveState({ root, epoch, file }: InputOf<'saveState'>): Promise<SavedState> {
    const state = this.#heldState(root, epoch)
    return {
      stateRoot: rootText(state.root()),
      block: latestBlockOf(state),
      slot: state.slot,
      validators: state.validatorCount,
      bytes: await writeStateFile(file, state.serialize(), await this.#saveKeys(dirname(file), state.validatorCount)),
    }
  }

  /** Undefined: the engine has no such file. */
  async #saveKeys(folder: string, validators: number): Promise<KeysFile | undefined> {
    const { keys } = this.#loadedEngine()
    if (!keys.save) return undefined
    const saved = await findKeysFile(folder)
    return saved && saved.count >= validators * keysShareMin ? saved : writeKeysFile(folder, keys.save, keys.count())
  }

  #heldState(root: Root, epoch: number | undefined): EngineState {
    const state = epoch === undefined ? this.#states.block(root)?.state : this.#states.epochStart({ epoch, root })
    if (!state)
      throw new Error(`the state of the block ${root}${epoch === undefined ? '' : ` at epoch ${epoch}`} is not held`)
    return state
  }

  unload(): void {
    this.#states.clear()
    this.#reader.clear()
    this.#engine = undefined
  }

  dropBefore({ epoch }: InputOf<'dropBefore'>): ChainStatus {
    this.#states.dropBefore(firstSlotOf(this.#time, epoch))
    return this.status()
  }

  status(): ChainStatus {
    return {
      engine: this.#engine?.name,
      rssBytes: process.memoryUsage.rss(),
      states: this.#states.blocks(),
      epochStarts: this.#states.epochStarts(),
    }
  }
}

const isOf =
  (root: Root) =>
  (id: EpochStartId): boolean =>
    id.root === root

/** Its header has no state root until the next slot, so the root of the block must be computed with it. */
function latestBlockOf(state: EngineState): BlockId {
  const header = state.latestBlockHeader
  const isFilled = header.stateRoot.some((byte) => byte !== 0)
  const stateRoot = isFilled ? header.stateRoot : state.root()
  return { slot: header.slot, root: rootText(ssz.phase0.BeaconBlockHeader.hashTreeRoot({ ...header, stateRoot })) }
}

/** A signature that cannot be decoded is as wrong as another one. */
function isValid(verify: () => boolean): boolean {
  try {
    return verify()
  } catch {
    return false
  }
}

/** Throws a Refusal. */
function applyBlock(before: EngineState, block: DecodedBlock, verifiesSignatures: boolean): EngineState {
  let state: EngineState
  try {
    state = before.process(block.signed, verifiesSignatures)
  } catch (error) {
    throw new Refusal('invalid', `the block of slot ${block.slot} is invalid: ${(error as Error).message}`, block)
  }
  const computed = rootText(state.root())
  if (computed === block.stateRoot) return state
  state.release()
  throw new Refusal(
    'other-state',
    `the state after slot ${block.slot} has the root ${computed}, but the block states ${block.stateRoot}`,
    block,
    { stated: block.stateRoot, computed },
  )
}
