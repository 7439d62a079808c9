// Computes the states of one network from its blocks, in the chain process. The calls are those of ./messages.ts.
//
// 1. Only a state whose root its block states is held. So every answer is proven by the root of a block.
// 2. The epoch starts between a block and its parent are held with the block.
import { createHash, randomUUID } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { open, readFile, rename, rm } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { pipeline } from 'node:stream/promises'
import { promisify } from 'node:util'
import { constants, zstdCompress, zstdDecompress } from 'node:zlib'
import { type BeaconConfig, chainConfigFromJson, createBeaconConfig } from '@lodestar/config'
import { ssz } from '@lodestar/types'
import { readRules } from '#sources/beacon/consensus.ts'
import { View } from '#sources/beacon/ssz.ts'
import { type DecodedBlock, decodeBlock, Refusal, rootText } from './check-block.ts'
import { canBeNative, openEngine } from './choose-engine.ts'
import type { Engine, EngineState } from './engine.ts'
import { HeldStates } from './held-states.ts'
import type {
  AcceptedBlock,
  BlockId,
  ChainStart,
  ChainStatus,
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

const compress = promisify(zstdCompress)
const decompress = promisify(zstdDecompress)
const fast = { params: { [constants.ZSTD_c_compressionLevel]: 1 } }
/** The first bytes of a file in zstd. */
const zstdMagic = 0xfd2fb528
/** A state begins with the genesis time, the genesis validators root and the slot. */
const stateSlotAt = 8 + 32

type ChainHandlers = {
  readonly [Name in OperationName]: (input: InputOf<Name>) => Promise<OutputOf<Name>> | OutputOf<Name>
}

export class Chain implements ChainHandlers {
  readonly #start: ChainStart
  readonly #config: BeaconConfig
  readonly #slotsPerEpoch: number
  readonly #states = new HeldStates()
  readonly #reader: EpochStartReader
  #engine: Engine | undefined

  constructor(start: ChainStart) {
    this.#start = start
    // Lists that are not settings of the chain, such as BLOB_SCHEDULE before Fulu, may be missing.
    const chainConfig = chainConfigFromJson(start.spec as Record<string, string>)
    this.#config = createBeaconConfig(chainConfig, Buffer.from(start.genesisValidatorsRoot.slice(2), 'hex'))
    const rules = readRules(start.spec)
    this.#slotsPerEpoch = rules.slotsPerEpoch
    this.#reader = new EpochStartReader(this.#config, rules)
  }

  async loadState({ file, stateRoot, keysFile }: InputOf<'loadState'>): Promise<LoadedState> {
    const content = await readFile(file)
    const isCompressed = content.length >= 4 && content.readUInt32LE(0) === zstdMagic
    return this.#load(isCompressed ? await decompress(content) : content, stateRoot, keysFile)
  }

  async #load(bytes: Uint8Array, expected: Root | undefined, keysFile: string | undefined): Promise<LoadedState> {
    const slot = new View(bytes).u64(stateSlotAt)
    const validators = validatorsIn(this.#config, slot, bytes)
    this.#states.clear()
    this.#reader.clear()
    const engine = await openEngine(this.#start.engine, this.#config, { slot, validators })
    if (engine.keys && keysFile !== undefined && (await hasHashOfName(keysFile))) {
      try {
        engine.keys.load(keysFile, pubkeysIn(this.#config, slot, bytes))
      } catch {
        // Of another chain. The keys are decoded from the state instead.
      }
    }
    const state = engine.load(bytes, slot)
    const stateRoot = rootText(state.root())
    if (expected !== undefined && stateRoot !== expected) {
      state.release()
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
    if (state.slot % this.#slotsPerEpoch !== 0) return []
    const id = { epoch: state.slot / this.#slotsPerEpoch, root: block.root }
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
    const proposer = before.proposers[block.slot % this.#slotsPerEpoch]
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
    const epochSlot = slot - (slot % this.#slotsPerEpoch)
    let state = parent
    while (state.slot < epochSlot) {
      const nextSlot = state.slot - (state.slot % this.#slotsPerEpoch) + this.#slotsPerEpoch
      state = state.advance(nextSlot)
      // An epoch that begins with this block has another start: the state after the block.
      if (nextSlot === slot) return { state, epochStarts, isTemporary: true }
      const id = { epoch: nextSlot / this.#slotsPerEpoch, root: parentRoot }
      this.#states.addEpochStart({ ...id, state }, state.currentJustifiedCheckpoint.epoch)
      epochStarts.push(id)
    }
    return { state, epochStarts, isTemporary: false }
  }

  /** The same state in an engine that has the rules for the block. Crossing into a fork may need another engine. */
  async #withRulesFor({ slot }: DecodedBlock, parent: EngineState): Promise<EngineState> {
    if (this.#engine?.name !== 'native' || canBeNative(this.#config, slot)) return parent
    const bytes = parent.serialize()
    const block = latestBlockOf(parent)
    this.#states.clear()
    this.#engine = await openEngine('typescript', this.#config, { slot, validators: parent.validatorCount })
    const state = this.#engine.load(bytes, parent.slot)
    this.#states.addBlock({ ...block, parentRoot: rootText(state.latestBlockHeader.parentRoot), state })
    return state
  }

  #loadedEngine(): Engine {
    if (!this.#engine) throw new Error('no state is loaded')
    return this.#engine
  }

  advance({ epoch, root }: EpochStartId): EpochStartId {
    const slot = epoch * this.#slotsPerEpoch
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
    const content = await compress(state.serialize(), fast)
    const temporary = `${file}.${randomUUID()}.tmp`
    try {
      {
        await using handle = await open(temporary, 'wx', 0o600)
        await handle.writeFile(content)
        await handle.sync()
      }
      await rename(temporary, file)
    } catch (error) {
      await rm(temporary, { force: true })
      throw error
    }
    return {
      stateRoot: rootText(state.root()),
      block: latestBlockOf(state),
      slot: state.slot,
      validators: state.validatorCount,
      bytes: content.length,
    }
  }

  async saveKeys({ folder }: InputOf<'saveKeys'>): Promise<OutputOf<'saveKeys'>> {
    const { keys } = this.#loadedEngine()
    if (!keys) return undefined
    const temporary = join(folder, `${randomUUID()}.tmp`)
    try {
      keys.save(temporary)
      const file = join(folder, `${await hashOf(temporary)}.keys`)
      {
        await using handle = await open(temporary)
        await handle.sync()
      }
      await rename(temporary, file)
      return { file }
    } catch (error) {
      await rm(temporary, { force: true })
      throw error
    }
  }

  #heldState(root: Root, epoch: number | undefined): EngineState {
    const state = epoch === undefined ? this.#states.block(root)?.state : this.#states.epochStart({ epoch, root })
    if (!state)
      throw new Error(`the state of the block ${root}${epoch === undefined ? '' : ` at epoch ${epoch}`} is not held`)
    return state
  }

  dropBefore({ epoch }: InputOf<'dropBefore'>): ChainStatus {
    this.#states.dropBefore(epoch * this.#slotsPerEpoch)
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

async function hashOf(file: string): Promise<string> {
  const hash = createHash('sha256')
  await pipeline(createReadStream(file), hash)
  return hash.digest('hex')
}

/** The native library does not verify what it reads from such a file. */
const hasHashOfName = async (file: string): Promise<boolean> =>
  basename(file) === `${await hashOf(file).catch(() => '')}.keys`

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
