// The duties of the previous, the current and the next epoch at the head of the chain: who has to attest when, which
// attestations the blocks so far include, upcoming proposals, the sync committee, and since Gloas proposed blocks and
// payload committees.
//
// 1. Committees are kept while the head moves along one chain. After a reorganization they are requested again.
// 2. A vote of the previous or the current epoch that no block includes yet can still be included later.
import { type Block, hasBit } from '#sources/beacon/block.ts'
import { type Beacon, BeaconError, ServerStatusError } from '#sources/beacon/client.ts'
import type { Committees } from '#sources/beacon/committees.ts'
import { type ConsensusRules, epochAt, firstSlotAt } from '#sources/beacon/consensus.ts'
import { type PayloadStatus, payloadStatus } from '#sources/beacon/payload-status.ts'
import { dueMs } from '#sources/beacon/slot-timing.ts'
import { type BeaconQueries, createBeaconQueries } from '../read/beacon-queries.ts'
import { findPayloadVotes, type PayloadVote } from '../rules/payload-votes.ts'
import { membersOf } from '../rules/votes.ts'

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
  /** Since Gloas: duties in payload committees. */
  readonly payloadVotes: readonly CurrentPayloadVote[]
  /** Since Gloas: proposed blocks, from the previous epoch up to the head. */
  readonly blocks: readonly CurrentBlock[]
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

export interface CurrentPayloadVote {
  readonly validator: number
  readonly epoch: number
  readonly slot: number
  /** Milliseconds from the start of the slot until the vote is due. */
  readonly dueMs: number
  /** `unknown`: the seat is not known, so that it is unknown whether the next block includes the vote. */
  readonly state: 'due' | 'included' | 'missing' | 'impossible' | 'unknown'
  /** Of an included vote. */
  readonly vote: PayloadVote['vote']
}

export interface CurrentBlock {
  readonly slot: number
  readonly proposer: number
  readonly payload: PayloadStatus
  /** Undefined: the proposer built the payload itself. */
  readonly builder: number | undefined
  readonly valueGwei: number
}

/** By epoch and slot: the seats of payload committees, as far as they are known. */
export type KnownSeats = ReadonlyMap<number, Uint32Array>

/** `blocks`: the chain up to the newest one. `validators`: whose duties to return; undefined: all. */
export type ReadCurrentDuties = (
  blocks: readonly Block[],
  validators: ReadonlySet<number> | undefined,
  seats: KnownSeats,
  signal: AbortSignal,
) => Promise<CurrentDuties>

export function createCurrentDutiesReader(node: Beacon, rules: ConsensusRules): ReadCurrentDuties {
  /** Of the last call: a block after it does not change its duties. */
  let lastRoot: string | undefined
  const committeesByEpoch = new Map<number, Committees>()
  const proposersByEpoch = new Map<number, Int32Array>()
  const syncCommittees = new Map<number, Uint32Array>()
  const payloadDutiesByEpoch = new Map<number, ReadonlyMap<number, number>>()
  const caches = [committeesByEpoch, proposersByEpoch, syncCommittees, payloadDutiesByEpoch]

  /**
   * Those of an epoch whose seats are not known. The node lists slots, but not seats. Before the fork, it may fail for the
   * first epoch of Gloas. The other duties do not depend on it.
   */
  async function requestPayloadVotes(
    queries: BeaconQueries,
    epoch: number,
    validators: ReadonlySet<number> | undefined,
    blocks: readonly Block[],
  ): Promise<PayloadVote[]> {
    const members = validators ?? new Set(committeesByEpoch.get(epoch)?.members.flatMap((list) => [...list]))
    if (members.size === 0) return []
    const request = () => queries.payloadDuties(epoch, [...members]).catch(ignoreStatus500)
    const duties = await remember(payloadDutiesByEpoch, epoch, request)
    const slots = new Set(blocks.map(({ slot }) => slot))
    return [...(duties ?? [])].map(([validator, slot]) => ({
      ...{ validator, slot, seats: 0, vote: undefined, payload: undefined },
      canBeOnChain: slots.has(slot) && slots.has(slot + 1),
    }))
  }

  return async (chain, validators, seats, signal) => {
    const queries = createBeaconQueries(node, rules, signal)
    const head = chain.at(-1)
    if (!head) throw new BeaconError('the newest block is not known')
    const epoch = epochAt(rules, head.slot)
    const blocks = chain.filter(({ slot }) => slot >= Math.max(1, firstSlotAt(rules, epoch - 1)))
    // After a reorganization, duties may be others.
    if (!chain.some(({ root }) => root === lastRoot)) for (const cache of caches) cache.clear()
    lastRoot = head.root
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
    const payloadVotes: CurrentPayloadVote[] = []
    for (const at of [epoch - 1, epoch, epoch + 1]) {
      const votesDueMs = dueMs(rules, 'payloadAttestation', at)
      if (at < 0 || votesDueMs === undefined) continue
      const known = seats.get(at)
      const found = known
        ? findPayloadVotes(rules, firstSlotAt(rules, at), known, blocks)
        : await requestPayloadVotes(queries, at, validators, blocks)
      for (const duty of found.filter(({ validator }) => isWanted(validator))) {
        const { validator, slot, vote } = duty
        const state = stateOf(duty, head.slot, known !== undefined)
        payloadVotes.push({ validator, epoch: at, slot, dueMs: votesDueMs, state, vote })
      }
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
      payloadVotes,
      blocks: blocks
        .flatMap((block, at) => toCurrentBlock(block, blocks[at + 1]))
        .filter(({ proposer }) => isWanted(proposer)),
      syncCommittee: syncCommittee?.filter(isWanted),
    }
  }
}

function stateOf(
  { slot, vote, canBeOnChain }: PayloadVote,
  headSlot: number,
  isSeatKnown: boolean,
): CurrentPayloadVote['state'] {
  if (slot >= headSlot) return 'due'
  if (!canBeOnChain) return 'impossible'
  if (!isSeatKnown) return 'unknown'
  return vote ? 'included' : 'missing'
}

const toCurrentBlock = (block: Block, child: Block | undefined): CurrentBlock[] =>
  block.bid
    ? [
        {
          slot: block.slot,
          proposer: block.proposer,
          payload: payloadStatus(block, child),
          builder: block.bid.builder,
          valueGwei: block.bid.value,
        },
      ]
    : []

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

function ignoreStatus500(error: unknown): undefined {
  if (!(error instanceof ServerStatusError)) throw error
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
