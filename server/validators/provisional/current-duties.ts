// The duties of the previous, the current and the next epoch at the head of the chain: who has to attest when, which
// attestations the blocks so far include, upcoming proposals and the sync committee.
//
// 1. Blocks and committees are kept while the head moves along one chain. A new block costs one request. After a
//    reorganization everything is read again.
// 2. A vote of the previous or the current epoch that no block includes yet can still be included later.
import { type Block, hasBit } from '#sources/beacon/block.ts'
import { type Beacon, BeaconError } from '#sources/beacon/client.ts'
import type { Committees } from '#sources/beacon/committees.ts'
import { type ConsensusRules, epochAt, firstSlotAt } from '#sources/beacon/consensus.ts'
import { dueMs } from '#sources/beacon/slot-timing.ts'
import { membersOf } from '../ingest/epochs/votes.ts'
import { type BeaconQueries, type BlockHeader, createBeaconQueries } from '../ingest/read/beacon-queries.ts'

/** Plain values, because they are sent to another thread. */
export interface CurrentDuties {
  readonly headSlot: number
  readonly headRoot: string
  /** Those whose committees are known, in order. */
  readonly epochs: readonly AttestationDuties[]
  /** Slot → proposer, from the current epoch on. */
  readonly proposers: ReadonlyMap<number, number>
  /** Slot → proposer of the slots without a block, from the previous epoch up to the head. */
  readonly missedBlocks: ReadonlyMap<number, number>
  /** Members of the sync committee of the current epoch; undefined: unknown. */
  readonly syncCommittee: Uint32Array | undefined
}

/** Columns: entry n of each belongs to duty n. There may be a hundred thousand, which are sent with every block. */
export interface AttestationDuties {
  readonly epoch: number
  /** Milliseconds from the start of a slot until its votes are due. */
  readonly dueMs: number
  readonly validator: Int32Array
  readonly slot: Int32Array
  readonly committee: Int32Array
  /** The slot of the first block that includes the vote; −1: none yet. */
  readonly includedSlot: Int32Array
}

/** `validators`: whose duties to return; undefined: all. */
export type ReadCurrentDuties = (
  head: BlockHeader,
  validators: ReadonlySet<number> | undefined,
  signal: AbortSignal,
) => Promise<CurrentDuties>

export function createCurrentDutiesReader(node: Beacon, rules: ConsensusRules): ReadCurrentDuties {
  /** The canonical chain from the first slot of the previous epoch on. */
  let blocks: readonly Block[] = []
  const committeesByEpoch = new Map<number, Committees>()
  const proposersByEpoch = new Map<number, Int32Array>()
  const syncCommittees = new Map<number, Uint32Array>()
  const caches = [committeesByEpoch, proposersByEpoch, syncCommittees]

  async function readBlocks(queries: BeaconQueries, head: BlockHeader, epoch: number): Promise<void> {
    const first = Math.max(1, firstSlotAt(rules, epoch - 1))
    const known = blocks
    blocks = []
    const last = known.at(-1)
    const extended = last && (await extendChain(queries, known, last.slot + 1, head))
    if (!extended) for (const cache of caches) cache.clear()
    const chain = extended ?? (await extendChain(queries, [], first, head))
    if (!chain) throw new BeaconError('the chain was reorganized while its newest blocks were read')
    blocks = chain.filter(({ slot }) => slot >= first)
  }

  return async (head, validators, signal) => {
    const queries = createBeaconQueries(node, rules, signal)
    const epoch = epochAt(rules, head.slot)
    await readBlocks(queries, head, epoch)
    for (const cache of caches) for (const known of cache.keys()) if (known < epoch - 1) cache.delete(known)
    const epochs: AttestationDuties[] = []
    for (const at of [epoch - 1, epoch, epoch + 1]) {
      const committees =
        at < 0 ? undefined : await remember(committeesByEpoch, at, () => queries.committees(head.slot, at))
      const votesDueMs = dueMs(rules, 'attestation', at) ?? 0
      if (committees) epochs.push({ ...attestationDuties(at, blocks, committees, validators), dueMs: votesDueMs })
    }
    const isWanted = (validator: number) => validators === undefined || validators.has(validator)
    const proposers = new Map<number, number>()
    for (const at of [epoch - 1, epoch, epoch + 1]) {
      const ofEpoch = at < 0 ? undefined : await remember(proposersByEpoch, at, () => queries.proposers(at))
      for (const [position, validator] of ofEpoch?.entries() ?? [])
        if (isWanted(validator)) proposers.set(firstSlotAt(rules, at) + position, validator)
    }
    const withBlock = new Set(blocks.map(({ slot }) => slot))
    const first = firstSlotAt(rules, epoch)
    const syncCommittee = await remember(syncCommittees, epoch, () => queries.syncCommittee(head.slot, epoch))
    return {
      headSlot: head.slot,
      headRoot: head.root,
      epochs,
      proposers: filterKeys(proposers, (slot) => slot >= first),
      missedBlocks: filterKeys(proposers, (slot) => slot > 0 && slot <= head.slot && !withBlock.has(slot)),
      syncCommittee: syncCommittee?.filter(isWanted),
    }
  }
}

function attestationDuties(
  epoch: number,
  blocks: readonly Block[],
  committees: Committees,
  validators: ReadonlySet<number> | undefined,
): Omit<AttestationDuties, 'dueMs'> {
  const included = includedSlots(epoch, blocks, committees)
  const [validator, slot, committee]: [number[], number[], number[]] = [[], [], []]
  for (const [at, members] of committees.members.entries()) {
    for (const member of members) {
      if (validators && !validators.has(member)) continue
      validator.push(member)
      slot.push(committees.firstSlot + Math.floor(at / committees.perSlot))
      committee.push(at % committees.perSlot)
    }
  }
  return {
    epoch,
    validator: Int32Array.from(validator),
    slot: Int32Array.from(slot),
    committee: Int32Array.from(committee),
    includedSlot: Int32Array.from(validator, (member) => included.get(member) ?? -1),
  }
}

/** Validator → the slot of the first block that includes its vote. */
function includedSlots(epoch: number, blocks: readonly Block[], committees: Committees): ReadonlyMap<number, number> {
  const slots = new Map<number, number>()
  for (const block of blocks) {
    for (const attestation of block.attestations) {
      if (attestation.targetEpoch !== epoch) continue
      let bit = 0
      for (const members of membersOf(attestation, committees))
        for (const validator of members)
          if (hasBit(attestation.bits, bit++) && !slots.has(validator)) slots.set(validator, block.slot)
    }
  }
  return slots
}

/** The blocks with those from a slot up to the head; undefined if they are not one chain. */
async function extendChain(
  queries: BeaconQueries,
  blocks: readonly Block[],
  from: number,
  head: BlockHeader,
): Promise<readonly Block[] | undefined> {
  const chain = [...blocks]
  for (let slot = from; slot <= head.slot; slot++) {
    const block = await queries.block(slot)
    if (!block) continue
    const before = chain.at(-1)
    if (before && before.root !== block.parentRoot) return undefined
    chain.push(block)
  }
  return chain.at(-1)?.root === head.root ? chain : undefined
}

const filterKeys = <T>(map: ReadonlyMap<number, T>, isKept: (key: number) => boolean): ReadonlyMap<number, T> =>
  new Map([...map].filter(([key]) => isKept(key)))

async function remember<T>(
  cache: Map<number, T>,
  epoch: number,
  read: () => Promise<T | undefined>,
): Promise<T | undefined> {
  const value = cache.get(epoch) ?? (await read())
  if (value !== undefined) cache.set(epoch, value)
  return value
}
