// Applies the rules of the simulator to a recorded chain: each recorded block to the recorded state before it. The result
// must be the recorded state after it. So the simulator does not only agree with the server that it tests.
import assert from 'node:assert/strict'
import { before, describe, test } from 'node:test'
import { type ConsensusRules, readRules } from '#sources/beacon/consensus.ts'
import { gloasOffsets, stateOffsets } from '#sources/beacon/state-layout.ts'
import { type Exchange, exchangesOf } from '#test/beacon-replay.ts'
import { gloasRecording } from '#test/gloas-recording.ts'
import { chainFromState } from '#test/simulator/chain-from-state.ts'
import { membersBySlot } from '../assign-duties.ts'
import { noOperations } from '../behaviour.ts'
import { type ChainData, ChainState } from '../chain.ts'
import { endEpoch } from '../epoch-transition.ts'
import { presentForks } from '../plan.ts'
import type { SimulatedAttestation } from '../records.ts'
import { applySync } from '../sync-committee.ts'
import { Truth } from '../truth.ts'
import { type Committees, createVotesData, type VotableBlock, Votes } from '../votes.ts'
import { applyBlockOperations, applyParent } from './build-block.ts'
import { acceptBid, dropPayment } from './builders.ts'
import { upgradeToGloas } from './epoch-end.ts'
import type { SimulatedBid, SimulatedRequests } from './gloas-records.ts'
import { type ChainConstants, chainConstants } from './gloas-state.ts'
import { choosePayloadCommittees, chooseProposers } from './weighted-selection.ts'

// biome-ignore lint/suspicious/noExplicitAny: recorded JSON, of which every wrong name fails the test.
type Json = any

const forkSlot = 32
const lastSlot = 160
const plan = {
  ...{ slotsPerEpoch: 8, slotSeconds: 6, validators: 64, committeesPerSlot: 2, syncSeats: 32, syncPeriod: 8 },
  ...{ forkEpochs: { ...presentForks, gloas: 4 }, hasExecution: false },
}
const constants: ChainConstants = {
  ...chainConstants,
  ...{ slashingsVector: 64, leakAfterEpochs: 4, historicalRoots: 64, activationDelay: 4, builderDelay: 2 },
  ...{ churnMin: 64_000_000_000n, activationChurnMax: 128_000_000_000n, consolidationQuotient: 32n },
  depositsPerEpoch: 16,
}

const lower = (text: string): string => text.toLowerCase()
const bitsIn = (text: string): boolean[] =>
  [...Buffer.from(text.slice(2), 'hex')].flatMap((byte) =>
    [0, 1, 2, 3, 4, 5, 6, 7].map((bit) => ((byte >> bit) & 1) === 1),
  )

const requestsFrom = (json: Json): SimulatedRequests => ({
  deposits: json.deposits.map((request: Json) => ({
    ...{ pubkey: request.pubkey, credentials: request.withdrawal_credentials, gwei: BigInt(request.amount), from: '' },
  })),
  withdrawals: json.withdrawals.map((request: Json) => ({
    sender: lower(request.source_address),
    ...{ pubkey: request.validator_pubkey, gwei: BigInt(request.amount) },
  })),
  consolidations: json.consolidations.map((request: Json) => ({
    sender: lower(request.source_address),
    ...{ source: request.source_pubkey, target: request.target_pubkey },
  })),
  builderDeposits: json.builder_deposits.map((request: Json) => ({
    ...{ pubkey: request.pubkey, credentials: request.withdrawal_credentials, gwei: BigInt(request.amount) },
  })),
  builderExits: json.builder_exits.map((request: Json) => ({
    ...{ sender: lower(request.source_address), pubkey: request.pubkey },
  })),
})

const bidFrom = (json: Json): SimulatedBid => ({
  ...{ slot: Number(json.slot), parentHash: json.parent_block_hash, parentRoot: json.parent_block_root },
  ...{ blockHash: json.block_hash, prevRandao: json.prev_randao, feeRecipient: lower(json.fee_recipient) },
  builder: json.builder_index === String(2n ** 64n - 1n) ? 'self' : Number(json.builder_index),
  ...{ value: BigInt(json.value), executionPayment: BigInt(json.execution_payment) },
  requestsRoot: json.execution_requests_root,
})

const attestationFrom = ({ data, aggregation_bits, committee_bits }: Json): SimulatedAttestation => ({
  ...{ slot: Number(data.slot), index: Number(data.index), head: data.beacon_block_root },
  ...{ targetEpoch: Number(data.target.epoch), target: data.target.root, bits: bitsIn(aggregation_bits) },
  committees: bitsIn(committee_bits).flatMap((bit, at) => (bit ? [at] : [])),
})

/** What the bytes of a state contain, besides the slots of payments. */
const comparable = ({ consolidated: _, consolidations, validators, queue, gloas, ...data }: ChainData) => ({
  ...data,
  validators: validators.map(({ depositor: _, ...validator }) => validator),
  queue: queue.map(({ depositor: _, ...deposit }) => deposit),
  consolidations: consolidations.map(({ from, to }) => ({ from, to })),
  gloas: gloas && { ...gloas, payments: gloas.payments.map((payment) => payment && { ...payment, slot: -1 }) },
})

describe('the rules of the simulator, applied to a recorded chain', () => {
  let rules: ConsensusRules
  const states = new Map<number, Buffer>()
  /** Messages of blocks, by slot. */
  const blocks = new Map<number, Json>()
  const roots: VotableBlock[] = []
  const committees = new Map<number, Committees>()

  const dataOf = ({ body }: Exchange): Json => JSON.parse(body).data
  const numberIn = ({ path }: Exchange, pattern: RegExp) => Number(pattern.exec(path)?.[1] ?? Number.NaN)
  const stateAt = (slot: number) => states.get(slot) as Buffer
  const chainAt = (slot: number) => chainFromState(stateAt(slot), rules)

  before(() => {
    const all = ['exchanges', 'debug-states'].flatMap((name) => exchangesOf(`${gloasRecording}/${name}.ndjson`))
    for (const exchange of all) {
      if (exchange.status !== 200) continue
      const [state, block, header] = [
        /debug\/beacon\/states\/(\d+)$/,
        /v2\/beacon\/blocks\/(\d+)$/,
        /headers\/(\d+)$/,
      ].map((pattern) => numberIn(exchange, pattern)) as [number, number, number]
      const epoch = numberIn(exchange, /committees\?epoch=(\d+)$/)
      if (state >= 0) states.set(state, Buffer.from(exchange.body, 'base64'))
      else if (block >= 0 && exchange.bodyEncoding === 'utf8') blocks.set(block, dataOf(exchange).message)
      else if (header >= 0) roots.push({ slot: header, root: dataOf(exchange).root })
      else if (epoch >= 0 && exchange.path.includes('/committees'))
        committees.set(
          epoch,
          dataOf(exchange).map(({ validators }: { validators: string[] }) => validators.map(Number)),
        )
      else if (exchange.path.endsWith('config/spec')) rules = readRules(dataOf(exchange))
    }
    roots.sort((a, b) => a.slot - b.slot)
  })

  /** Of earlier blocks, what the next one says about their payload. */
  const votesDataBefore = (slot: number) => {
    const earlier = roots.filter((block) => block.slot < slot)
    const rootUpTo = (until: number) => earlier.findLast((block) => block.slot <= until)?.root ?? ''
    const epoch = Math.floor(slot / plan.slotsPerEpoch)
    const targets = [epoch - 1, epoch].map((at) => [at, rootUpTo(at * plan.slotsPerEpoch)] as const)
    const isFullBy = (child: VotableBlock | undefined, { slot: at }: VotableBlock) => {
      const [childBid, bid] = [child?.slot, at].map(
        (of) => blocks.get(of ?? -1)?.body.signed_execution_payload_bid?.message,
      )
      return bid === undefined || childBid?.parent_block_hash === bid.block_hash
    }
    return {
      ...createVotesData(),
      roots: earlier.map((block, at) => ({ ...block, isFull: isFullBy(earlier[at + 1], block) })),
      targets: new Map(targets),
    }
  }

  const syncCommitteeIn = (slot: number, data: ChainData): number[] => {
    const from = stateOffsets(rules).syncCommittees
    const indices = new Map(data.validators.map(({ pubkey }, index) => [pubkey, index]))
    return Array.from({ length: plan.syncSeats }, (_, seat) => {
      const key = `0x${stateAt(slot).toString('hex', from + seat * 48, from + (seat + 1) * 48)}`
      return indices.get(key) as number
    })
  }

  function applyBlock(chain: ChainState, slot: number): void {
    const { proposer_index, body } = blocks.get(slot)
    const [proposer, epoch] = [Number(proposer_index), Math.floor(slot / plan.slotsPerEpoch)]
    const bid = bidFrom(body.signed_execution_payload_bid.message)
    const votes = new Votes(chain, chain.truth, committees, votesDataBefore(slot))
    const parentSlot = chain.gloas.bid.slot
    const requests = requestsFrom(body.parent_execution_requests)
    const isFull = bid.parentHash === chain.gloas.bid.blockHash
    applyParent(chain, { delivery: 'full', requests, number: 0 }, isFull, { slot, epoch })
    votes.setPayload(chain.gloas.availability[parentSlot % constants.historicalRoots] === true)
    acceptBid(chain, bid, proposer, epoch)
    for (const { signed_header_1: header } of body.proposer_slashings) {
      const index = Number(header.message.proposer_index)
      dropPayment(chain, Number(header.message.slot), index, epoch)
      chain.slash(index, proposer, slot)
    }
    for (const { attestation_1, attestation_2 } of body.attester_slashings) {
      const second = new Set<string>(attestation_2.attesting_indices)
      for (const index of attestation_1.attesting_indices.filter((name: string) => second.has(name)).map(Number))
        if (!chain.at(index).slashed) chain.slash(index, proposer, slot)
    }
    for (const attestation of body.attestations)
      chain.earn(proposer, votes.apply(attestationFrom(attestation), slot, epoch), slot)
    const changes = body.bls_to_execution_changes.map(({ message }: Json) => message)
    for (const { validator_index, to_execution_address: depositor } of changes)
      Object.assign(chain.at(Number(validator_index)), { depositor: lower(depositor) })
    const exits = body.voluntary_exits.map(({ message }: Json) => Number(message.validator_index))
    const credentialsChanges = changes.map(({ validator_index }: Json) => Number(validator_index))
    const applied = applyBlockOperations(chain, { ...noOperations, exits, credentialsChanges }, epoch)
    assert.deepEqual(applied.exits, exits)
    const bits = bitsIn(body.sync_aggregate.sync_committee_bits)
    applySync(chain, { slot, epoch, proposer }, syncCommitteeIn(slot, chain.data), bits)
  }

  test('every block and every end of an epoch leads to the recorded state', () => {
    let count = 0
    for (let slot = forkSlot + 1; slot <= lastSlot; slot++) {
      const chain = new ChainState(plan, new Truth(), chainAt(slot - 1), constants)
      if (slot % plan.slotsPerEpoch === 0) endEpoch(chain, slot / plan.slotsPerEpoch - 1)
      chain.startSlot(slot)
      if (blocks.has(slot)) applyBlock(chain, slot)
      assert.deepEqual(comparable(chain.data), comparable(chainAt(slot)), `slot ${slot}`)
      count += 1
    }
    assert.equal(count, 128)
  })

  test('the first block of the fork leads to the recorded state', () => {
    const [after, upgraded] = [chainAt(forkSlot), chainAt(forkSlot)]
    // The simulated end of an epoch is simpler before Gloas, so only what the fork creates is compared.
    const chain = new ChainState(plan, new Truth(), upgraded, constants)
    const [address, gwei] = ['0xb0', 7n]
    assert(after.gloas)
    chain.data.queue = after.gloas.builders.map(({ pubkey, address: of, balance }) => ({
      ...{ pubkey, credentials: `${address}${'0'.repeat(22)}${of.slice(2)}`, depositor: '', gwei: balance - gwei },
      slot: forkSlot - 1,
    }))
    chain.data.queue.push(...chain.data.queue.map((deposit) => ({ ...deposit, gwei })))
    upgradeToGloas(chain, 4, after.gloas.latestHash, after.gloas.bid.requestsRoot)
    assert.deepEqual(chain.gloas.builders, after.gloas.builders)
    assert.deepEqual(chain.data.queue, [])
    assert.equal(chain.gloas.builders.length, 2)
  })

  test('payload committees and proposers are the recorded ones', () => {
    const { slotsPerEpoch } = plan
    const offsets = gloasOffsets(rules)
    let proposerEpochs = 0
    for (let epoch = 4; epoch < 20; epoch++) {
      const slot = epoch * slotsPerEpoch
      const bytes = stateAt(slot)
      const { validators } = chainAt(slot)
      // The state has the mixes at the end of the last epochs.
      const mixAt =
        stateOffsets(rules).balances + 4 + 32 * ((epoch - 1 + rules.historicalMixes) % rules.historicalMixes)
      const mix = `0x${bytes.toString('hex', mixAt, mixAt + 32)}`
      const choice = { epoch: epoch + 1, slotsPerEpoch, mix, shuffleRounds: rules.shuffleRounds }
      const members = membersBySlot(committees.get(epoch + 1) as Committees, slotsPerEpoch)
      const seats = constants.ptcSize
      const recorded = Array.from({ length: slotsPerEpoch }, (_, at) =>
        Array.from({ length: seats }, (_, seat) =>
          Number(bytes.readBigUInt64LE(offsets.committees + ((2 * slotsPerEpoch + at) * seats + seat) * 8)),
        ),
      )
      assert.deepEqual(choosePayloadCommittees(choice, validators, members, seats), recorded, `epoch ${epoch + 1}`)
      // Those of the epoch after the fork were chosen before it.
      if (epoch === 4) continue
      const active = [...validators.keys()].filter((index) => {
        const validator = validators[index]
        return validator !== undefined && validator.activation <= epoch + 1 && epoch + 1 < validator.exit
      })
      const lookahead = Array.from({ length: slotsPerEpoch }, (_, at) =>
        Number(bytes.readBigUInt64LE(offsets.builders - 8 * slotsPerEpoch + at * 8)),
      )
      assert.deepEqual(chooseProposers(choice, validators, active), lookahead, `epoch ${epoch + 1}`)
      proposerEpochs += 1
    }
    assert.equal(proposerEpochs, 15)
  })
})
