// Finds the state that the chain process begins with: a snapshot, or else a state of a node. A wrong state is found out at
// the latest with the first block after it, whose state root would differ.
import { rm, writeFile } from 'node:fs/promises'
import { headerRoot } from '#sources/beacon/block-type.ts'
import type { Beacon } from '#sources/beacon/client.ts'
import { type ConsensusRules, firstSlotAt } from '#sources/beacon/consensus.ts'
import { dataOf } from '#sources/beacon/endpoint.ts'
import { hexOf, InvalidResponseError, readFields } from '#sources/beacon/json.ts'
import type { ChainCaller } from './chain-process.ts'
import type { LoadedState, Root } from './messages.ts'
import type { Snapshots } from './snapshots.ts'

/** A state of two million validators. */
const stateBytesMax = 512 * 1024 * 1024

export interface FirstStateSource {
  readonly beacon: Beacon
  readonly rules: ConsensusRules
  readonly process: ChainCaller
  readonly snapshots: Snapshots
}

/** Loads a state at or before the start of an epoch. Undefined: there is no snapshot, and no node has the state. */
export async function loadFirstState(
  { beacon, rules, process, snapshots }: FirstStateSource,
  epoch: number,
  signal: AbortSignal,
): Promise<LoadedState | undefined> {
  const loaded = await snapshots.load(process, epoch)
  if (loaded) return loaded
  const slot = firstSlotAt(rules, epoch)
  const stateRoot = await findStateRoot(beacon, rules, slot, signal)
  // Nodes differ in which state they return for an empty slot, so the root is preferred.
  const byRoot = stateRoot && (await requestState(beacon, stateRoot, signal))
  const bytes = byRoot ?? (await requestState(beacon, String(slot), signal))
  if (!bytes) return undefined
  const file = await snapshots.fileFor(`node-${epoch}`)
  try {
    await writeFile(file, bytes)
    return await process.call('loadState', { file, stateRoot: byRoot && stateRoot })
  } finally {
    await rm(file, { force: true })
  }
}

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
  return beacon.request(
    { path: `/eth/v1/beacon/headers/${slot}` },
    (reply) => {
      const fields = readFields(dataOf(reply.is === 'json' ? reply.body : undefined), 'data')
      const message = readFields(readFields(fields.header, 'header').message, 'message')
      if (Number(message.slot) !== slot) return undefined
      if (hexOf(fields.root, 'root', 32) !== headerRoot(message))
        throw new InvalidResponseError(`the header of slot ${slot} does not have the root ${fields.root}`)
      return hexOf(message.state_root, 'state_root', 32)
    },
    signal,
  )
}

const requestState = (beacon: Beacon, id: string, signal: AbortSignal): Promise<Uint8Array | undefined> =>
  beacon.request(
    { path: `/eth/v2/debug/beacon/states/${id}`, accept: 'ssz', bytesMax: stateBytesMax, reusesBuffer: true },
    (reply) => (reply.is === 'ssz' ? reply.bytes : undefined),
    signal,
  )
