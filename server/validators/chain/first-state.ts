// Finds the state that the chain process begins with.
//
// 1. A snapshot, else a state of a node, else the checkpoint of the settings.
// 2. The nodes must have the last block of the state. With one node, that node is trusted, as in every client. A wrong state
//    is found out at the latest with the first block after it, whose state root would differ.
import { rm, writeFile } from 'node:fs/promises'
import { headerRoot } from '#sources/beacon/block-type.ts'
import { type Beacon, BeaconError, ContradictionError } from '#sources/beacon/client.ts'
import { type ConsensusRules, firstSlotAt } from '#sources/beacon/consensus.ts'
import { type BeaconReply, dataOf } from '#sources/beacon/endpoint.ts'
import { hexOf, InvalidResponseError, readFields } from '#sources/beacon/json.ts'
import { View } from '#sources/beacon/ssz.ts'
import { FetchError, fetchBytes } from '#sources/http-client.ts'
import { type ChainCaller, ChainProcessError } from './chain-process.ts'
import type { BlockId, LoadedState, Root } from './messages.ts'
import type { Snapshots } from './snapshots.ts'
import { readStateFile } from './state-files.ts'

/** A state of two million validators. */
const stateBytesMax = 512 * 1024 * 1024
const checkpointTimeoutMs = 600_000
/** Of the slot in a state. */
const slotAt = 40

export interface CheckpointSource {
  /** A file, or the URL of a server. */
  readonly from: string
  /** Of the last block before the state. Undefined: any. */
  readonly blockRoot: Root | undefined
}

export interface FirstStateSource {
  readonly beacon: Beacon
  readonly rules: ConsensusRules
  readonly process: ChainCaller
  readonly snapshots: Snapshots
  readonly checkpoint: CheckpointSource | undefined
  /** Called when it begins with something that may take minutes. */
  readonly onStep?: ((step: FirstStateStep) => void) | undefined
}

export type FirstStateStep = 'loading a snapshot' | 'downloading the first state' | 'loading the first state'

/** Loads a state at or before the start of an epoch. Undefined: there is no snapshot, and no node has the state. */
export async function loadFirstState(
  source: FirstStateSource,
  epoch: number,
  signal: AbortSignal,
): Promise<LoadedState | undefined> {
  const { beacon, rules, process, snapshots, checkpoint, onStep } = source
  onStep?.('loading a snapshot')
  const loaded = await snapshots.load(process, epoch)
  if (loaded) return loaded
  onStep?.('downloading the first state')
  const slot = firstSlotAt(rules, epoch)
  const stateRoot = await findStateRoot(beacon, rules, slot, signal)
  // Nodes differ in which state they return for an empty slot, so the root is preferred.
  const byRoot = stateRoot && (await requestState(beacon, stateRoot, signal))
  const ofSlot = byRoot ?? (await requestState(beacon, String(slot), signal))
  const ofNode = ofSlot ?? (slot === 0 ? await requestState(beacon, 'genesis', signal) : undefined)
  if (ofNode) return load(source, ofNode, { stateRoot: byRoot && stateRoot, blockRoot: undefined }, signal)
  const bytes = checkpoint && (await readCheckpoint(checkpoint.from, slot, signal))
  return bytes && load(source, bytes, { stateRoot: undefined, blockRoot: checkpoint.blockRoot }, signal)
}

async function load(
  { beacon, process, snapshots, onStep }: FirstStateSource,
  bytes: Uint8Array,
  expected: { readonly stateRoot: Root | undefined; readonly blockRoot: Root | undefined },
  signal: AbortSignal,
): Promise<LoadedState> {
  // Decodes the keys of all validators, and computes the root.
  onStep?.('loading the first state')
  const file = await snapshots.fileFor('first')
  try {
    await writeFile(file, bytes)
    const loaded = await process.call('loadState', { file, stateRoot: expected.stateRoot })
    await requireBlock(beacon, loaded.block, expected.blockRoot, signal)
    return loaded
  } catch (error) {
    if (!(error instanceof ChainProcessError)) await process.call('unload', undefined)
    throw error
  } finally {
    await rm(file, { force: true })
  }
}

/** The computed root of a state determines the root of its last block, which the nodes must have too. */
async function requireBlock(
  beacon: Beacon,
  { slot, root }: BlockId,
  expected: Root | undefined,
  signal: AbortSignal,
): Promise<void> {
  const nodes = beacon.each()
  const request = { path: `/eth/v1/beacon/headers/${slot}` }
  const found = await Promise.all(nodes.map((node) => node.ask(request, (reply) => headerAt(reply, slot), signal)))
  const stated = [
    ...(expected === undefined ? [] : [{ root: expected, by: 'checkpointRoot' }]),
    ...nodes.map(({ name }, at) => ({ root: found[at]?.root, by: name })),
  ]
  const other = stated.find((one) => one.root !== undefined && one.root !== root)
  if (!other) return
  throw new ContradictionError(
    `the first state is that after the block ${root} of slot ${slot}, but that block is ${other.root} according to ${other.by}. ` +
      'Correct validators.networks[].checkpoint, or remove the node that is on the wrong chain',
  )
}

/** Undefined: it has no state up to this slot. */
async function readCheckpoint(from: string, slot: number, signal: AbortSignal): Promise<Uint8Array | undefined> {
  if (!URL.canParse(from)) return stateUntil(slot, await readStateFile(from).catch(describe(from)))
  const base = from.replace(/\/+$/, '')
  for (const id of [String(slot), 'finalized']) {
    const found = await fetchBytes(`${base}/eth/v2/debug/beacon/states/${id}`, {
      ...{ timeoutMs: checkpointTimeoutMs, bytesMax: stateBytesMax, signal },
      headers: { accept: 'application/octet-stream' },
    }).catch((error: unknown) => {
      if (error instanceof FetchError && error.failure === 'status') return undefined
      throw error instanceof FetchError ? new BeaconError(`checkpoint: ${error.message}`) : error
    })
    const state = found && stateUntil(slot, found.bytes)
    if (state) return state
  }
  return undefined
}

const describe =
  (file: string) =>
  (error: Error): never => {
    throw new BeaconError(`the checkpoint ${file} cannot be read: ${error.message}`)
  }

const stateUntil = (slot: number, bytes: Uint8Array): Uint8Array | undefined =>
  bytes.length > slotAt + 8 && new View(bytes).u64(slotAt) <= slot ? bytes : undefined

/** The root of the state after the newest block up to a slot. Undefined: the slots of an epoch before it are empty. */
async function findStateRoot(
  beacon: Beacon,
  rules: ConsensusRules,
  slot: number,
  signal: AbortSignal,
): Promise<Root | undefined> {
  for (let at = slot; at >= 0 && at > slot - rules.slotsPerEpoch; at--) {
    const root = await requestStateRoot(beacon, at, signal)
    if (root) return root
  }
  return undefined
}

/** Undefined: the slot is empty. */
function requestStateRoot(beacon: Beacon, slot: number, signal: AbortSignal): Promise<Root | undefined> {
  return beacon.request({ path: `/eth/v1/beacon/headers/${slot}` }, (reply) => headerAt(reply, slot)?.stateRoot, signal)
}

/** Undefined: the slot is empty. */
export function headerAt(
  reply: BeaconReply,
  slot: number,
): { readonly root: Root; readonly stateRoot: Root } | undefined {
  const fields = readFields(dataOf(reply.is === 'json' ? reply.body : undefined), 'data')
  const message = readFields(readFields(fields.header, 'header').message, 'message')
  if (Number(message.slot) !== slot) return undefined
  const root = hexOf(fields.root, 'root', 32)
  if (root !== headerRoot(message))
    throw new InvalidResponseError(`the header of slot ${slot} does not have the root ${root}`)
  return { root, stateRoot: hexOf(message.state_root, 'state_root', 32) }
}

const requestState = (beacon: Beacon, id: string, signal: AbortSignal): Promise<Uint8Array | undefined> =>
  beacon.request(
    { path: `/eth/v2/debug/beacon/states/${id}`, accept: 'ssz', bytesMax: stateBytesMax, reusesBuffer: true },
    (reply) => (reply.is === 'ssz' ? reply.bytes : undefined),
    signal,
  )
