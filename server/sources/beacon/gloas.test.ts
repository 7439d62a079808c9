// Blocks, envelopes and states of Gloas, as another implementation encoded them (test/gloas-recording.ts).
import assert from 'node:assert/strict'
import { before, describe, test } from 'node:test'
import { type Exchange, exchangesOf } from '#test/beacon-replay.ts'
import { type GloasTruth, gloasRecording, gloasTruth } from '#test/gloas-recording.ts'
import { validatorsFromJson } from '#test/validators-json.ts'
import type { Bid, Block } from './block.ts'
import { blockFromJson, blockFromSsz, withdrawalsFrom } from './block-ssz.ts'
import { blockTypeOf } from './block-type.ts'
import { type ConsensusRules, epochAt, type Fork, readRules } from './consensus.ts'
import { envelopeFromJson, envelopeFromSsz } from './envelope.ts'
import { builderFlag } from './gloas.ts'
import { payloadCommitteeOf } from './payload-state.ts'
import { payloadStatus } from './payload-status.ts'
import { View } from './ssz.ts'
import { rootOf } from './ssz-type.ts'
import { stateFromSsz, syncCommitteeFromSsz } from './validators.ts'

describe('a chain that crosses the fork to Gloas', () => {
  let exchanges: readonly Exchange[] = []
  let rules: ConsensusRules
  let truth: GloasTruth
  /** By slot, from SSZ. */
  const blocks = new Map<number, Block>()

  const dataOf = ({ body }: Exchange) => (JSON.parse(body) as { data: never }).data
  const viewOf = ({ body }: Exchange) => new View(Buffer.from(body, 'base64'))
  const find = (pattern: RegExp, accept: string) =>
    exchanges
      .filter(({ path, accept: type, status }) => status === 200 && type === accept && pattern.test(path))
      .map((exchange) => ({ exchange, slot: Number(/\d+$/.exec(exchange.path)?.[0]) }))
  const forkOf = ({ headers }: Exchange) => headers['eth-consensus-version'] as Fork
  const ssz = 'application/octet-stream'
  const json = 'application/json'

  before(() => {
    const all = ['exchanges', 'debug-states'].flatMap((name) => exchangesOf(`${gloasRecording}/${name}.ndjson`))
    exchanges = [...new Map(all.map((exchange) => [`${exchange.path} ${exchange.accept}`, exchange])).values()]
    const [spec] = find(/config\/spec$/, json)
    assert(spec)
    rules = readRules(dataOf(spec.exchange))
    truth = gloasTruth()
    for (const { exchange, slot } of find(/v2\/beacon\/blocks\/\d+$/, ssz))
      if (slot > 0) blocks.set(slot, blockFromSsz(viewOf(exchange), forkOf(exchange), rules))
  })

  test('the root of every block equals that of the node, from SSZ and from JSON', () => {
    let count = 0
    for (const { exchange, slot } of find(/v2\/beacon\/blocks\/\d+$/, json)) {
      if (slot === 0) continue
      const fork = forkOf(exchange)
      const block = blocks.get(slot)
      assert.deepEqual(blockFromJson(dataOf(exchange), fork, rules), block)
      const [header] = find(new RegExp(`/headers/${slot}$`), json)
      assert.equal(block?.root, (dataOf(header?.exchange as Exchange) as { root: string }).root, `slot ${slot}`)
      count += 1
    }
    assert.equal(count, 139)
  })

  test('the SSZ of every block and envelope equals what its JSON is converted to', () => {
    for (const [pattern, type] of [
      [/v2\/beacon\/blocks\/\d+$/, 'signed'],
      [/execution_payload_envelopes\/\d+$/, 'signedEnvelope'],
    ] as const) {
      const bySlot = new Map(find(pattern, ssz).map(({ slot, exchange }) => [slot, exchange]))
      assert(bySlot.size > 90)
      for (const { exchange, slot } of find(pattern, json)) {
        const bytes = blockTypeOf(forkOf(exchange), rules)[type].fromJson(dataOf(exchange), 'data')
        assert.equal(Buffer.compare(bytes, viewOf(bySlot.get(slot) as Exchange).bytes), 0, `${type} of slot ${slot}`)
      }
    }
  })

  test('the status of each payload follows from the next block', () => {
    const chain = [...blocks.values()].sort((a, b) => a.slot - b.slot)
    for (const { slot, payload, selfBuilt, bidValue, blockHash } of truth.slots) {
      const block = blocks.get(slot)
      if (!block || payload === undefined) continue
      const child = chain.find((other) => other.parentRoot === block.root)
      assert.equal(
        payloadStatus(block, child),
        payload === 'in block' ? 'full' : (payload ?? 'unknown'),
        `slot ${slot}`,
      )
      if (!block.bid) continue
      assert.equal(block.bid.builder === undefined, selfBuilt)
      assert.deepEqual([block.bid.value, block.bid.blockHash], [bidValue, blockHash])
    }
    const head = chain.at(-1) as Block
    assert.equal(payloadStatus(head, undefined), 'unknown')
  })

  test('the commitment of a bid to requests is the root of those that the next block applies', () => {
    let count = 0
    for (const { exchange, slot } of find(/v2\/beacon\/blocks\/\d+$/, json)) {
      const block = blocks.get(slot)
      const parent = [...blocks.values()].find(({ root }) => root === block?.parentRoot)
      if (!block?.bid || !parent?.bid || block.bid.parentBlockHash !== parent.bid.blockHash) continue
      const { parent_execution_requests: requests } = (
        dataOf(exchange) as { message: { body: { parent_execution_requests: unknown } } }
      ).message.body
      const type = blockTypeOf('gloas', rules).executionRequests
      assert.equal(rootOf(type, type.fromJson(requests, 'requests')), parent.bid.requestsRoot)
      count += 1
    }
    assert.equal(count, 88)
  })

  test('envelopes contain the withdrawals of the truth, with those of builders apart', () => {
    let ofBuilders = 0
    for (const { exchange, slot } of find(/execution_payload_envelopes\/\d+$/, json)) {
      const block = blocks.get(slot) as Block
      const { payload } = envelopeFromJson(dataOf(exchange), block, rules)
      const fromSsz = find(new RegExp(`envelopes/${slot}$`), ssz)[0]?.exchange as Exchange
      assert.deepEqual(envelopeFromSsz(viewOf(fromSsz), block, rules).payload, payload)
      const expected = truth.slots.find((entry) => entry.slot === slot)
      if (!expected?.withdrawals) continue
      assert.deepEqual(
        payload.withdrawals.map(({ validator, amount }) => [validator, amount]),
        expected.withdrawals.filter(([validator]) => validator < builderFlag),
      )
      const builders = expected.withdrawals.filter(([validator]) => validator >= builderFlag)
      assert.deepEqual(
        payload.builderWithdrawals?.map(({ builder, amount }) => [builder + builderFlag, amount]),
        builders,
      )
      assert.equal(payload.transactions, expected.transactions)
      ofBuilders += builders.length
    }
    assert(ofBuilders > 10)
  })

  test('an envelope of another block is refused', () => {
    const [first, second] = find(/execution_payload_envelopes\/\d+$/, ssz)
    assert(first && second)
    const other = blocks.get(second.slot) as Block
    assert.throws(() => envelopeFromSsz(viewOf(first.exchange), other, rules), /has another block root than its block/)
    const block = blocks.get(first.slot) as Block
    const changed = { ...block, bid: { ...(block.bid as Bid), blockHash: `0x${'1'.repeat(64)}` } }
    assert.throws(() => envelopeFromSsz(viewOf(first.exchange), changed, rules), /another block hash/)
  })

  test('validators, queues, sync committees, builders and payload committees of every state', () => {
    let states = 0
    for (const { exchange, slot } of find(/debug\/beacon\/states\/\d+$/, ssz)) {
      const view = viewOf(exchange)
      const { validators, finalizedEpoch } = stateFromSsz(view, rules)
      const epoch = epochAt(rules, slot)
      const at = (path: string) => find(new RegExp(`states/${slot}/${path}$`), json)[0]?.exchange
      const balances = at('validator_balances')
      if (balances)
        assert.deepEqual(
          [...validators.balance],
          (dataOf(balances) as { balance: string }[]).map(({ balance }) => Number(balance)),
        )
      const checkpoints = at('finality_checkpoints')
      if (checkpoints)
        assert.equal(finalizedEpoch, Number((dataOf(checkpoints) as { finalized: { epoch: string } }).finalized.epoch))
      const list = at('validators')
      if (list) {
        const { pubkeys, credentials, ...columns } = validatorsFromJson(dataOf(list), rules.increment)
        for (const [name, column] of Object.entries(columns))
          if (typeof column === 'object')
            assert.deepEqual(validators[name as keyof typeof columns], column, `slot ${slot}: ${name}`)
        assert.equal(Buffer.compare(pubkeys, validators.pubkeys), 0)
        assert.equal(Buffer.compare(credentials, validators.credentials), 0)
      }
      for (const [path, bytes, size] of [
        ['pending_deposits', validators.pending?.deposits, 192],
        ['pending_consolidations', validators.pending?.consolidations, 16],
        ['pending_partial_withdrawals', validators.payloads?.partialWithdrawals, 24],
      ] as const) {
        const exchange = at(path)
        if (exchange && bytes) assert.equal(bytes.length / size, (dataOf(exchange) as unknown[]).length, path)
      }
      const committee = at(`sync_committees\\?epoch=${epoch}`)
      if (committee) {
        const listed = (dataOf(committee) as { validators: string[] }).validators.map(Number)
        assert.deepEqual([...syncCommitteeFromSsz(view, rules, validators)], listed)
      }
      assert.equal(validators.payloads !== undefined, slot >= 32)
      if (!validators.payloads) continue
      states += 1
      const expected = truth.slots.find((entry) => entry.slot === slot)
      if (expected?.withdrawals) {
        const { withdrawals, builderWithdrawals } = withdrawalsFrom(new View(validators.payloads.expectedWithdrawals))
        assert.equal(withdrawals.length + builderWithdrawals.length, expected.withdrawals.length)
        assert.equal(validators.payloads.latestBid.blockHash, expected.blockHash)
      }
      if (slot % 8 !== 0) continue
      const { builders = [] } = truth.builders.find((entry) => entry.epoch === epoch) ?? {}
      const records = new View(validators.payloads.builders).list(93)
      assert.deepEqual(
        records.map((record) => record.u64(69)),
        builders.map(({ balance }) => balance),
      )
      for (const { ptc, validator } of truth.epochs[epoch]?.rows ?? []) {
        if (!ptc) continue
        const committee: ArrayLike<number> = payloadCommitteeOf(validators.payloads, rules, epoch, ptc.slot) ?? []
        assert.equal(Array.from(committee).filter((member) => member === validator).length, ptc.seats)
      }
    }
    assert.equal(states, 129)
  })
})
