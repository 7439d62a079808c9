// The Beacon API requests of ingest, with decoded responses. They return undefined if the node does not have the data;
// for a block this means that its slot is empty.

import { firstSlotOf } from '#core/chain-time.ts'
import type { Block } from '#sources/beacon/block.ts'
import { headerRoot } from '#sources/beacon/block-type.ts'
import type { Beacon } from '#sources/beacon/client.ts'
import { committeesFromJson } from '#sources/beacon/committees.ts'
import { type ConsensusRules, epochAt, firstSlotAt } from '#sources/beacon/consensus.ts'
import { type BeaconRequest, dataOf } from '#sources/beacon/endpoint.ts'
import { envelopeFromJson, envelopeFromSsz } from '#sources/beacon/envelope.ts'
import { figureOf, hexOf, InvalidResponseError, readFields, readList } from '#sources/beacon/json.ts'
import { readBlock } from '#sources/beacon/read-block.ts'
import { View } from '#sources/beacon/ssz.ts'
import type { ValidatorKeys } from '#sources/beacon/validator-keys.ts'
import { type StateParts, stateFromSsz, syncCommitteeFromSsz } from '#sources/beacon/validators.ts'

/** A state of two million validators. */
export const stateBytesMax = 512 * 1024 * 1024
const blockBytesMax = 16 * 1024 * 1024
/** JSON takes twice the bytes, and a block access list is about as long as the transactions. */
const envelopeBytesMax = 64 * 1024 * 1024

export type BeaconQueries = ReturnType<typeof createBeaconQueries>

export function createBeaconQueries(beacon: Beacon, rules: ConsensusRules, signal?: AbortSignal) {
  const { slotsPerEpoch, syncCommitteeSize } = rules

  const queryData = <T>(
    path: string,
    read: (data: unknown) => T,
    options: Omit<BeaconRequest, 'path'> = {},
  ): Promise<T | undefined> => requestData(beacon, { path, ...options }, read, signal)

  /** `block`: its slot, its root, or the newest one. */
  const queryHeader = (block: number | string) =>
    queryData(`/eth/v1/beacon/headers/${block}`, (data): BlockHeader => {
      const fields = readFields(data, 'data')
      const message = readFields(readFields(fields.header, 'header').message, 'message')
      const slot = figureOf(message.slot, 'slot')
      const root = headerRoot(message)
      if (typeof block === 'number' && slot > block)
        throw new InvalidResponseError(`requested the header of slot ${block}, got that of ${slot}`)
      // For an empty slot, some nodes return an earlier block. Its root does not matter.
      if ((typeof block === 'string' || slot === block) && hexOf(fields.root, 'root', 32) !== root)
        throw new InvalidResponseError(`the header of slot ${slot} has the root ${root}, not ${fields.root}`)
      if (typeof block === 'string' && block !== 'head' && root !== block)
        throw new InvalidResponseError(`requested the header of the block ${block}, got that of ${root}`)
      const proposer = figureOf(message.proposer_index, 'proposer_index')
      return { slot, proposer, root, parentRoot: hexOf(message.parent_root, 'parent_root', 32) }
    })

  async function queryHeaderAt(slot: number): Promise<BlockHeader | undefined> {
    const header = await queryHeader(slot)
    return header?.slot === slot ? header : undefined
  }

  /** Requests one header for every SLOTS_PER_HISTORICAL_ROOT slots. */
  async function sharesFirstPayloadBit({ bid, slot, parentRoot }: Block): Promise<boolean> {
    const forkSlot = firstSlotAt(rules, rules.forkEpochs.gloas)
    if (!bid || slot <= forkSlot || slot % rules.historicalRoots !== 0) return false
    const parent = await queryHeader(parentRoot)
    return parent !== undefined && parent.slot < forkSlot
  }

  const queryProposers = (version: 'v1' | 'v2', epoch: number) =>
    queryData(`/eth/${version}/validator/duties/proposer/${epoch}`, (data) => {
      const proposers = new Int32Array(slotsPerEpoch).fill(-1)
      for (const member of readList(data, 'duties')) {
        const duty = readFields(member, 'duties')
        const at = figureOf(duty.slot, 'slot') - firstSlotOf(rules, epoch)
        if (!(at >= 0 && at < slotsPerEpoch)) throw new InvalidResponseError('a duty is outside the epoch')
        proposers[at] = figureOf(duty.validator_index, 'validator_index')
      }
      if (epoch === 0) proposers[0] = -1
      if (proposers.some((proposer, at) => proposer < 0 && !(epoch === 0 && at === 0))) {
        throw new InvalidResponseError(`epoch ${epoch} has slots without a proposer`)
      }
      return proposers
    })

  return {
    finalizedEpoch: (state: string | number) =>
      queryData(`/eth/v1/beacon/states/${state}/finality_checkpoints`, (data) =>
        figureOf(readFields(readFields(data, 'data').finalized, 'finalized').epoch, 'epoch'),
      ),

    header: queryHeaderAt,

    headerOf: (root: string) => queryHeader(root),

    /** The newest block of the canonical chain. */
    head: () => queryHeader('head'),

    /** For an empty slot, some nodes return an earlier block. */
    async block(slot: number): Promise<Block | undefined> {
      const block = await beacon.request(
        { path: `/eth/v2/beacon/blocks/${slot}`, accept: 'either', bytesMax: blockBytesMax },
        (reply) => {
          const read = readBlock(reply, slot, rules)
          if (read.slot > slot)
            throw new InvalidResponseError(`requested the block of slot ${slot}, got that of ${read.slot}`)
          return read.slot === slot ? read : undefined
        },
        signal,
      )
      return block && (await sharesFirstPayloadBit(block)) ? { ...block, sharesFirstPayloadBit: true } : block
    },

    /**
     * The envelope with the payload of a block, since Gloas. Nodes have none of a payload that was withheld, and delete
     * old ones. Whether the payload is part of the chain does not follow from it (payload-status.ts).
     */
    envelope: (block: Block) =>
      beacon.request(
        {
          path: `/eth/v1/beacon/execution_payload_envelopes/${block.slot}`,
          accept: 'either',
          bytesMax: envelopeBytesMax,
        },
        (reply) =>
          reply.is === 'ssz'
            ? envelopeFromSsz(new View(reply.bytes), block, rules)
            : envelopeFromJson(dataOf(reply.body), block, rules),
        signal,
      ),

    /** The whole state. `previous`: the keys of an earlier state, to share memory with. */
    state: (slot: number, previous?: ValidatorKeys): Promise<NodeState | undefined> =>
      beacon.request(
        { path: `/eth/v2/debug/beacon/states/${slot}`, accept: 'ssz', bytesMax: stateBytesMax, reusesBuffer: true },
        (reply) => {
          if (reply.is !== 'ssz') throw new InvalidResponseError('the state is not SSZ')
          const view = new View(reply.bytes)
          const state = stateFromSsz(view, rules, previous)
          if (state.slot !== slot)
            throw new InvalidResponseError(`requested the state of slot ${slot}, got that of ${state.slot}`)
          return { ...state, syncCommittee: syncCommitteeFromSsz(view, rules, state.validators) }
        },
        signal,
      ),

    committees: (slot: number, epoch: number) =>
      queryData(`/eth/v1/beacon/states/${slot}/committees?epoch=${epoch}`, (data) =>
        committeesFromJson(data, firstSlotOf(rules, epoch), slotsPerEpoch),
      ),

    /**
     * By slot of the epoch; −1 for the genesis slot, which has no proposer. The Beacon API replaces version 1 by version 2,
     * with the same duties.
     */
    proposers: async (epoch: number) => (await queryProposers('v1', epoch)) ?? queryProposers('v2', epoch),

    /** Validator → the slot of its duty in a payload committee, since Gloas. */
    payloadDuties: (epoch: number, indices: readonly number[]) =>
      queryData(
        `/eth/v1/validator/duties/ptc/${epoch}`,
        (data): ReadonlyMap<number, number> =>
          new Map(
            readList(data, 'duties').map((member) => {
              const duty = readFields(member, 'duties')
              const slot = figureOf(duty.slot, 'slot')
              if (epochAt(rules, slot) !== epoch) throw new InvalidResponseError('a duty is outside the epoch')
              return [figureOf(duty.validator_index, 'validator_index'), slot]
            }),
          ),
        { bytesMax: stateBytesMax, body: indices.map(String) },
      ),

    /** By seat. */
    syncCommittee: (slot: number, epoch: number) =>
      queryData(`/eth/v1/beacon/states/${slot}/sync_committees?epoch=${epoch}`, (data) => {
        const list = readList(readFields(data, 'data').validators, 'validators')
        if (list.length !== syncCommitteeSize)
          throw new InvalidResponseError(`the sync committee has ${list.length} members, not ${syncCommitteeSize}`)
        return Uint32Array.from(list, (index) => figureOf(index, 'validators'))
      }),
  }
}

/** Requests JSON and reads its `data` member. Undefined if the node does not have it. */
export const requestData = <T>(
  beacon: Beacon,
  request: BeaconRequest,
  read: (data: unknown) => T,
  signal: AbortSignal | undefined,
): Promise<T | undefined> =>
  beacon.request(request, (reply) => read(dataOf(reply.is === 'json' ? reply.body : undefined)), signal)

/** A whole state. */
export interface NodeState extends StateParts {
  /** By seat. */
  readonly syncCommittee: Uint32Array
}

/** A block of the chain, without its content. */
export type BlockLink = Pick<Block, 'slot' | 'root'>

export type BlockHeader = BlockLink & Pick<Block, 'parentRoot' | 'proposer'>
