// Makes a chain of any size with the library that the chain process uses: every validator votes in every slot, and all
// signatures are real. It is the main file of a process, because the library freezes the preset.
//   node test/make-chain.ts FOLDER '{"preset":"minimal","validators":64,"slots":24}'
// Writes FOLDER/chain.json (what a node lists), FOLDER/state (SSZ) and FOLDER/<slot>.block (SSZ). Blocks with other names
// are wrong variants of the last block, signed by the validator that they name as the proposer.
import { createHash, randomBytes } from 'node:crypto'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { aggregatePublicKeys, type PublicKey, SecretKey } from '@chainsafe/blst'
import type { BeaconConfig } from '@lodestar/config'
import { type PresetName, setActivePreset } from '@lodestar/params/setPreset'
import type { fulu } from '@lodestar/types'
import { readRules } from '#sources/beacon/consensus.ts'
import { type PayloadState, payloadCommitteeOf, payloadStateFromSsz } from '#sources/beacon/payload-state.ts'
import { View } from '#sources/beacon/ssz.ts'
import type { EngineState } from '#validators/chain/engine.ts'

export interface MadeChainOptions {
  readonly preset: 'minimal' | 'mainnet'
  readonly validators: number
  /** Blocks are made for the slots 1 up to this one. */
  readonly slots: number
  readonly engine?: 'typescript' | 'native'
  /** Slots that stay empty. */
  readonly empty?: readonly number[]
  /** In these slots, from the first to before the second, nobody votes. */
  readonly withoutVotes?: readonly [number, number]
  /** Another number gives other keys. */
  readonly firstKey?: number
  /** Every second validator has exited long ago. */
  readonly halfExited?: boolean
  /** Of the transactions of each block. Default: few. */
  readonly payloadBytes?: number
  /** Writes to stderr how many slots there are. */
  readonly showsProgress?: boolean
  /** The first epoch with the rules of Gloas, from 1 on. Default: none. Only in TypeScript. */
  readonly gloasEpoch?: number
}

/** The content of chain.json. */
export interface MadeChain {
  readonly spec: Readonly<Record<string, unknown>>
  readonly genesisValidatorsRoot: string
  readonly slots: readonly number[]
  /** Of the body of the block of a slot. */
  readonly bodyRoots: Readonly<Record<string, string>>
}

const genesisTime = 1_700_000_000
const far = 0xffffffffffffffffn
const transactionBytes = 500

async function makeChain(folder: string, options: MadeChainOptions): Promise<void> {
  mkdirSync(folder, { recursive: true })
  const configs = await import('@lodestar/config')
  const params = await import('@lodestar/params')
  const { chainConfig: defaults } = await import('@lodestar/config/default')
  const { ssz } = await import('@lodestar/types')
  const transition = await import('@lodestar/state-transition')
  const { BitArray } = await import('@chainsafe/ssz')
  const forks = ['ALTAIR', 'BELLATRIX', 'CAPELLA', 'DENEB', 'ELECTRA', 'FULU']
  const chainConfig = {
    ...defaults,
    ...Object.fromEntries(forks.map((fork) => [`${fork}_FORK_EPOCH`, 0])),
    GLOAS_FORK_EPOCH: options.gloasEpoch ?? Number.POSITIVE_INFINITY,
    MIN_GENESIS_TIME: genesisTime,
  }
  const genesisValidatorsRoot = new Uint8Array(32).fill(9)
  const config: BeaconConfig = configs.createBeaconConfig(chainConfig, genesisValidatorsRoot)
  const keys = makeKeys(options.validators, options.firstKey)
  const spec = { ...configs.chainConfigToJson(chainConfig), ...params.presetToJson(params.activePreset) }
  const rules = readRules(spec)
  const isGloas = (slot: number) => slot >= (options.gloasEpoch ?? Number.POSITIVE_INFINITY) * params.SLOTS_PER_EPOCH
  const stateBytes = genesisBytes()
  writeFileSync(join(folder, 'state'), stateBytes)

  const engine =
    options.engine === 'native'
      ? await (await import('#validators/chain/native-engine.ts')).openNativeEngine(config)
      : (await import('#validators/chain/typescript-engine.ts')).openTypescriptEngine(config)
  let state: EngineState = engine.load(stateBytes, 0)
  const { SLOTS_PER_EPOCH: slotsPerEpoch } = params
  const rootOf = ({ latestBlockHeader: header, root }: EngineState, slot: number): Uint8Array =>
    ssz.phase0.BeaconBlockHeader.hashTreeRoot(header.slot === slot ? { ...header, stateRoot: root() } : header)
  /** The newest block at each slot. */
  const roots: Uint8Array[] = [rootOf(state, 0)]
  /** Committees of the slot, as the epoch of the slot has them. */
  const committeesAt: (readonly Uint32Array[])[] = [state.committees[0] ?? []]
  let mix = new Uint8Array(32).fill(3)
  let blockHash: Uint8Array = new Uint8Array(32).fill(4)
  /** Of the epoch of the slot. */
  let payloads: PayloadState | undefined
  const slots: number[] = []
  const bodyRoots: Record<string, string> = {}
  for (let slot = 1; slot <= options.slots; slot++) {
    const before = state.advance(slot)
    // Native states take memory that the garbage collector does not know of.
    state.release()
    const at = slot % slotsPerEpoch
    committeesAt[slot] = before.committees[at] ?? []
    if (options.empty?.includes(slot)) {
      state = before
      roots[slot] = roots[slot - 1] as Uint8Array
      continue
    }
    const epoch = Math.floor(slot / slotsPerEpoch)
    const proposerIndex = before.proposers[at] ?? 0
    const parentRoot = roots[slot - 1] as Uint8Array
    const types = config.getForkTypes(slot)
    const block = types.BeaconBlock.defaultValue()
    const body = block.body as fulu.BeaconBlock['body']
    Object.assign(block, { slot, proposerIndex, parentRoot })
    const randaoRoot = transition.computeSigningRoot(
      ssz.Epoch,
      epoch,
      config.getDomain(slot, params.DOMAIN_RANDAO, slot),
    )
    body.randaoReveal = keys.sign([proposerIndex], randaoRoot)
    body.eth1Data = {
      depositRoot: new Uint8Array(32),
      depositCount: BigInt(options.validators),
      blockHash: new Uint8Array(32),
    }
    const parentHash = blockHash
    blockHash = createHash('sha256').update(`block ${slot}`).digest()
    if (isGloas(slot)) {
      if (!payloads || at === 0) payloads = payloadStateFromSsz(new View(before.serialize()), rules)
      const { signedExecutionPayloadBid, ...others } = ssz.gloas.BeaconBlockBody.defaultValue()
      // The proposer builds its own payload, which becomes part of the chain with the next block.
      Object.assign(signedExecutionPayloadBid.message, {
        ...{ slot, parentBlockHash: parentHash, parentBlockRoot: parentRoot, blockHash, prevRandao: mix },
        builderIndex: params.BUILDER_INDEX_SELF_BUILD,
        executionRequestsRoot: ssz.gloas.ExecutionRequests.hashTreeRoot(others.parentExecutionRequests),
      })
      signedExecutionPayloadBid.signature[0] = 0xc0
      const payloadAttestations =
        isGloas(slot - 1) && !options.empty?.includes(slot - 1) ? [attestPayload(payloads, parentRoot, slot)] : []
      Object.assign(body, { signedExecutionPayloadBid, payloadAttestations })
    } else
      Object.assign(body.executionPayload, {
        ...{ parentHash, blockHash, prevRandao: mix, blockNumber: slot },
        timestamp: genesisTime + (slot * config.SLOT_DURATION_MS) / 1000,
        transactions: [
          createHash('sha256').update(`transaction ${slot}`).digest(),
          ...Array.from({ length: (options.payloadBytes ?? 0) / transactionBytes }, () =>
            randomBytes(transactionBytes),
          ),
        ],
      })
    const [quietFrom, quietUntil] = options.withoutVotes ?? [0, 0]
    body.attestations = slot >= quietFrom && slot < quietUntil ? [] : attest(before, slot)
    const seats = Array.from(before.syncCommittee)
    const syncRoot = transition.computeSigningRoot(
      ssz.Root,
      parentRoot,
      config.getDomain(slot, params.DOMAIN_SYNC_COMMITTEE, slot - 1),
    )
    body.syncAggregate = {
      syncCommitteeBits: BitArray.fromBoolArray(seats.map(() => true)),
      syncCommitteeSignature: keys.sign(seats, syncRoot),
    }
    state = before.process({ message: block, signature: new Uint8Array(96) }, false)
    before.release()
    block.stateRoot = state.root()
    const sign = (message: typeof block) => {
      const domain = config.getDomain(slot, params.DOMAIN_BEACON_PROPOSER, slot)
      const signingRoot = transition.computeSigningRoot(types.BeaconBlock, message, domain)
      return types.SignedBeaconBlock.serialize({
        message,
        signature: keys.sign([message.proposerIndex], signingRoot),
      })
    }
    const root = types.BeaconBlock.hashTreeRoot(block)
    writeFileSync(join(folder, `${slot}.block`), sign(block))
    if (slot === options.slots && !isGloas(slot)) {
      const zero = new Uint8Array(32)
      const payload = { ...own(body.executionPayload), prevRandao: zero }
      const wrongBlocks = {
        'other-state': { ...own(block), stateRoot: zero },
        'wrong-proposer': { ...own(block), proposerIndex: (proposerIndex + 1) % options.validators },
        invalid: { ...own(block), body: { ...own(body), executionPayload: payload } },
        'invalid-vote': {
          ...own(block),
          body: { ...own(body), attestations: body.attestations.map(withoutSignature) },
        },
      }
      for (const [reason, wrong] of Object.entries(wrongBlocks))
        writeFileSync(join(folder, `${reason}.block`), sign(wrong))
    }
    slots.push(slot)
    if (options.showsProgress && at === 0) process.stderr.write(`slot ${slot} of ${options.slots}\n`)
    bodyRoots[slot] = `0x${Buffer.from(types.BeaconBlockBody.hashTreeRoot(body)).toString('hex')}`
    roots[slot] = root
    const reveal = createHash('sha256').update(body.randaoReveal).digest()
    mix = mix.map((byte, position) => byte ^ (reveal[position] as number))
  }
  const made: MadeChain = {
    spec,
    genesisValidatorsRoot: `0x${Buffer.from(genesisValidatorsRoot).toString('hex')}`,
    slots,
    bodyRoots,
  }
  writeFileSync(join(folder, 'chain.json'), JSON.stringify(made))

  /** One vote of all committees of the slot before. */
  function attest(before: EngineState, slot: number) {
    const voted = slot - 1
    const target = Math.floor(voted / slotsPerEpoch)
    const isCurrent = target === Math.floor(slot / slotsPerEpoch)
    const data = {
      slot: voted,
      index: 0,
      beaconBlockRoot: roots[voted] as Uint8Array,
      source: isCurrent ? before.currentJustifiedCheckpoint : before.previousJustifiedCheckpoint,
      target: { epoch: target, root: roots[target * slotsPerEpoch] as Uint8Array },
    }
    const committees = committeesAt[voted] ?? []
    const voters = committees.flatMap((committee) => [...committee])
    const domain = config.getDomain(slot, params.DOMAIN_BEACON_ATTESTER, voted)
    const root = transition.computeSigningRoot(ssz.phase0.AttestationData, data, domain)
    const committeeBits = Array.from(
      { length: params.MAX_COMMITTEES_PER_SLOT },
      (_, index) => index < committees.length,
    )
    return [
      {
        aggregationBits: BitArray.fromBoolArray(voters.map(() => true)),
        data,
        signature: keys.sign(voters, root),
        committeeBits: BitArray.fromBoolArray(committeeBits),
      },
    ]
  }

  /** The votes of a whole payload committee about the block before. */
  function attestPayload(state: PayloadState, beaconBlockRoot: Uint8Array, slot: number) {
    const voted = slot - 1
    const members = payloadCommitteeOf(state, rules, Math.floor(slot / slotsPerEpoch), voted) ?? new Uint32Array()
    const data = { beaconBlockRoot, slot: voted, payloadPresent: true, blobDataAvailable: true }
    const domain = config.getDomain(slot, params.DOMAIN_PTC_ATTESTER, voted)
    const root = transition.computeSigningRoot(ssz.gloas.PayloadAttestationData, data, domain)
    const aggregationBits = BitArray.fromBoolArray(Array.from(members, () => true))
    return { aggregationBits, data, signature: keys.sign([...members], root) }
  }

  /** Without objects for validators, because there may be millions. */
  function genesisBytes(): Uint8Array {
    const count = options.validators
    const type = ssz.fulu.BeaconState
    const empty = type.defaultValue()
    const member = (index: number) => (options.halfExited ? index * 2 : index) % count
    const seats = Array.from({ length: params.SYNC_COMMITTEE_SIZE }, (_, seat) => member(seat))
    const pubkeys = seats.map((index) => keys.pubkey(index))
    const sync = { pubkeys, aggregatePubkey: keys.aggregate(seats) }
    const version = (fork: 'fulu') => config.forks[fork].version
    const value: typeof empty = {
      ...empty,
      genesisTime,
      genesisValidatorsRoot,
      fork: { previousVersion: version('fulu'), currentVersion: version('fulu'), epoch: 0 },
      randaoMixes: empty.randaoMixes.map(() => new Uint8Array(32).fill(3)),
      eth1Data: { ...empty.eth1Data, depositCount: BigInt(count) },
      eth1DepositIndex: count,
      currentSyncCommittee: sync,
      nextSyncCommittee: sync,
      proposerLookahead: empty.proposerLookahead.map((_, slot) => member(slot * 7)),
      depositRequestsStartIndex: BigInt(count),
      latestExecutionPayloadHeader: {
        ...empty.latestExecutionPayloadHeader,
        blockHash: new Uint8Array(32).fill(4),
      },
      latestBlockHeader: {
        ...empty.latestBlockHeader,
        bodyRoot: ssz.fulu.BeaconBlockBody.hashTreeRoot(ssz.fulu.BeaconBlockBody.defaultValue()),
      },
    }
    return replaceFields(type, type.serialize(value), {
      validators: validatorRecords(count, keys, options.halfExited === true),
      balances: uint64List(count, (index) => (options.halfExited && index % 2 === 1 ? 0n : 32_000_000_000n)),
      previousEpochParticipation: new Uint8Array(count).fill(7),
      currentEpochParticipation: new Uint8Array(count),
      inactivityScores: uint64List(count, () => 0n),
    })
  }
}

function uint64List(count: number, valueAt: (index: number) => bigint): Uint8Array {
  const values = BigUint64Array.from({ length: count }, (_, index) => valueAt(index))
  return new Uint8Array(values.buffer)
}

type Keys = ReturnType<typeof makeKeys>

/** Credentials of BLS keys: the chain withdraws nothing, so blocks need not list withdrawals. */
function validatorRecords(count: number, keys: Keys, halfExited: boolean): Uint8Array {
  const recordSize = 121
  const bytes = new Uint8Array(count * recordSize)
  const view = new DataView(bytes.buffer)
  for (let index = 0; index < count; index++) {
    const at = index * recordSize
    const hasExited = halfExited && index % 2 === 1
    bytes.set(keys.pubkey(index), at)
    view.setUint32(at + 49, index)
    view.setBigUint64(at + 80, hasExited ? 0n : 32_000_000_000n, true)
    for (const position of [105, 113]) view.setBigUint64(at + position, hasExited ? 0n : far, true)
  }
  return bytes
}

/** A copy without the root that the library has stored in the value. */
const own = <T extends object>(value: T): T => Object.fromEntries(Object.entries(value)) as T

/** With the signature of another message. */
const withoutSignature = <T extends { readonly signature: Uint8Array }>(attestation: T): T => ({
  ...own(attestation),
  signature: SecretKey.fromHex('1'.padStart(64, '0')).sign(new Uint8Array(32)).toBytes(),
})

interface StateType {
  readonly fieldsEntries: readonly {
    readonly fieldName: PropertyKey
    readonly fieldType: { readonly fixedSize: number | null }
  }[]
  getFieldRanges(data: DataView, start: number, end: number): { readonly start: number; readonly end: number }[]
}

/** Replaces fields of variable length. */
function replaceFields(type: StateType, bytes: Uint8Array, replaced: Readonly<Record<string, Uint8Array>>): Uint8Array {
  const ranges = type.getFieldRanges(new DataView(bytes.buffer, bytes.byteOffset, bytes.length), 0, bytes.length)
  const fields = type.fieldsEntries.map(({ fieldName, fieldType }, at) => ({
    isFixed: fieldType.fixedSize !== null,
    bytes: replaced[String(fieldName)] ?? bytes.subarray(ranges[at]?.start, ranges[at]?.end),
  }))
  const variable = fields.filter(({ isFixed }) => !isFixed)
  let offset = fields.reduce((sum, field) => sum + (field.isFixed ? field.bytes.length : 4), 0)
  const fixed = fields.map((field) => {
    if (field.isFixed) return field.bytes
    const written = Buffer.alloc(4)
    written.writeUInt32LE(offset)
    offset += field.bytes.length
    return written
  })
  return Buffer.concat([...fixed, ...variable.map((field) => field.bytes)])
}

/** Secret keys that follow each other: the sum of many is one multiplication, and public keys are additions. */
function makeKeys(count: number, first = 0) {
  const base = 0x1234_5678_9abc_def0_1234_5678_9abc_def0n + BigInt(first)
  const secretOf = (value: bigint) => SecretKey.fromHex(value.toString(16).padStart(64, '0'))
  const one = secretOf(1n).toPublicKey()
  const pubkeys = new Uint8Array(count * 48)
  let key: PublicKey = secretOf(base).toPublicKey()
  for (let index = 0; index < count; index++) {
    pubkeys.set(key.toBytes(), index * 48)
    key = aggregatePublicKeys([key, one])
  }
  const sumOf = (indices: readonly number[]) =>
    base * BigInt(indices.length) + BigInt(indices.reduce((sum, index) => sum + index, 0))
  return {
    pubkey: (index: number) => pubkeys.subarray(index * 48, (index + 1) * 48),
    aggregate: (indices: readonly number[]) => secretOf(sumOf(indices)).toPublicKey().toBytes(),
    /** The aggregate of the signatures of these validators. */
    sign: (indices: readonly number[], message: Uint8Array) => secretOf(sumOf(indices)).sign(message).toBytes(),
  }
}

if (import.meta.main) {
  const [folder = '', text = '{}'] = process.argv.slice(2)
  const options = JSON.parse(text) as MadeChainOptions
  setActivePreset(options.preset as PresetName)
  await makeChain(folder, options)
}
