// The blocks and envelopes of a large network as SSZ. Ingest verifies block roots, so they are real.
import type { Block } from '#sources/beacon/block.ts'
import { blockParts } from '#sources/beacon/block-ssz.ts'
import { blockTypeOf, headerRoot } from '#sources/beacon/block-type.ts'
import type { Committees } from '#sources/beacon/committees.ts'
import type { ConsensusRules } from '#sources/beacon/consensus.ts'
import { View } from '#sources/beacon/ssz.ts'
import { rootOf } from '#sources/beacon/ssz-type.ts'
import { payloadJson, root0, text, zeroText } from '../encode-payload.ts'
import { envelopeJson, gloasBodyJson } from '../gloas/encode-gloas.ts'
import { noRequests, type SimulatedPayloadVotes } from '../gloas/gloas-records.ts'
import { bitsOf } from '../ssz-writer.ts'
import { address, bidAt, deducts, isWithheld, mixOf, payloadHash, withdrawalsAt } from './large-payloads.ts'
import type { LargePlan } from './large-plan.ts'

export interface LargeBlock {
  /** What ingest reads of it. */
  readonly block: Block
  readonly header: Readonly<Record<string, string>>
  readonly bytes: Buffer
  /** Since Gloas. Undefined: the payload was withheld, or the node has deleted it. */
  readonly envelope: Buffer | undefined
}

/** After the offset and the signature, and the fixed fields of the message. */
const bodyAt = 100 + 84

export interface BlockInput {
  readonly slot: number
  readonly proposer: number
  /** Of an earlier block. */
  readonly rootOf: (slot: number) => string
  /** Of the epoch of an earlier slot. */
  readonly committeesOf: (slot: number) => Committees
}

export function makeBlock(plan: LargePlan, rules: ConsensusRules, input: BlockInput): LargeBlock {
  const { slot, proposer } = input
  const type = blockTypeOf(plan.fork, rules)
  const parentRoot = input.rootOf(slot - 1)
  const bid = bidAt(plan, slot, parentRoot)
  const payload = {
    hash: payloadHash(slot),
    number: slot,
    feeRecipient: address(slot),
    baseFeeWei: 1_000_000_007n,
    prevRandao: text(mixOf(Math.floor(slot / plan.slotsPerEpoch))),
    transactions: [],
  }
  const withTransactions = {
    ...payloadJson({ fork: plan.fork, payload, withdrawals: withdrawalsAt(plan, slot) }),
    transactions: new Array(plan.transactions).fill(text(Buffer.alloc(plan.transactionBytes, 5))),
  }
  const parts = {
    ...({ bid, delivery: 'full', isParentFull: deducts(plan, slot), exits: [], credentialsChanges: [] } as const),
    ...{ parentRequests: noRequests, requests: noRequests, payloadVotes: payloadVotes(plan, slot, parentRoot) },
  }
  const body = {
    ...commonJson,
    // One aggregate of all committees of the previous slot, and one that repeats half of the votes of the slot before.
    attestations: [0.99, 0.5].map((share, nth) => attestation(rules, input, slot - 1 - nth, share)),
    ...(plan.fork === 'gloas'
      ? gloasBodyJson(parts)
      : { execution_payload: withTransactions, blob_kzg_commitments: [], execution_requests: noRequestsJson }),
  }
  const head = { slot: String(slot), proposer_index: String(proposer), parent_root: parentRoot, state_root: root0 }
  const bytes = type.signed.fromJson({ message: { ...head, body }, signature: zeroText(96) }, 'block')
  const header = { ...head, body_root: rootOf(type.message.fields.body, bytes.subarray(bodyAt)) }
  const root = headerRoot(header)
  const envelope = { slot, root, parentRoot, fork: plan.fork, payload, withdrawals: [] }
  return {
    block: { ...blockParts(new View(bytes), plan.fork, rules), root },
    header,
    bytes: Buffer.from(bytes),
    envelope:
      plan.fork === 'gloas' && !isWithheld(plan, slot) && !plan.prunesEnvelopes
        ? envelopeBytes(plan, rules, envelopeJson(envelope, parts), withTransactions)
        : undefined,
  }
}

function envelopeBytes(
  plan: LargePlan,
  rules: ConsensusRules,
  { message, signature }: ReturnType<typeof envelopeJson>,
  { transactions, withdrawals }: { readonly transactions: readonly string[]; readonly withdrawals?: unknown },
): Buffer {
  const accessList = text(Buffer.alloc(plan.accessListBytes, 6))
  const payload = { ...message.payload, transactions, withdrawals, block_access_list: accessList }
  const signed = { message: { ...message, payload }, signature }
  return Buffer.from(blockTypeOf(plan.fork, rules).signedEnvelope.fromJson(signed, 'envelope'))
}

const noRequestsJson = { deposits: [], withdrawals: [], consolidations: [] }

const commonJson = {
  randao_reveal: zeroText(96),
  eth1_data: { deposit_root: root0, deposit_count: '0', block_hash: root0 },
  graffiti: root0,
  proposer_slashings: [],
  attester_slashings: [],
  deposits: [],
  voluntary_exits: [],
  sync_aggregate: { sync_committee_bits: text(Buffer.alloc(64, 0xff)), sync_committee_signature: zeroText(96) },
  bls_to_execution_changes: [],
}

/** Votes for the block of their own slot. */
function attestation(
  { slotsPerEpoch, committeesPerSlotMax }: ConsensusRules,
  { slot: includedAt, rootOf: rootAt, committeesOf }: BlockInput,
  slot: number,
  share: number,
) {
  const { members, perSlot, firstSlot } = committeesOf(slot)
  const firstCommittee = (slot - firstSlot) * perSlot
  const seats = members.slice(firstCommittee, firstCommittee + perSlot).reduce((sum, { length }) => sum + length, 0)
  const bits = Array.from({ length: seats }, (_, seat) => (seat * 7 + includedAt) % 100 < share * 100)
  const epoch = Math.floor(slot / slotsPerEpoch)
  return {
    aggregation_bits: text(bitsOf(bits, seats, true)),
    data: {
      slot: String(slot),
      index: '0',
      beacon_block_root: rootAt(slot),
      source: { epoch: '0', root: root0 },
      target: { epoch: String(epoch), root: rootAt(epoch * slotsPerEpoch) },
    },
    signature: zeroText(96),
    committee_bits: text(bitsOf(Array.from({ length: committeesPerSlotMax }, (_, at) => at < perSlot))),
  }
}

/** As many aggregates as a block can have: nearly all members see what happened, a few see something else. */
function payloadVotes(plan: LargePlan, slot: number, blockRoot: string): SimulatedPayloadVotes[] {
  const isPresent = !isWithheld(plan, slot - 1)
  return [0, 1, 2, 3].map((nth) => ({
    blockRoot,
    slot: slot - 1,
    isPresent: nth < 2 ? isPresent : !isPresent,
    hasBlobs: nth % 2 === 0,
    bits: Array.from({ length: 512 }, (_, seat) => (seat % 50 < 45 ? 0 : (seat % 50) - 45) === nth),
  }))
}
