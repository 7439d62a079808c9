import assert from 'node:assert/strict'
import { mkdtempDisposable, readFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { systemClock } from '#runtime/clock.ts'
import { type Log, silentLog } from '#runtime/log.ts'
import { openBeacon } from '#sources/beacon/client.ts'
import { View } from '#sources/beacon/ssz.ts'
import { simulateAlertsNetwork } from '#test/alerts-network.ts'
import { openReplay, type ReplayOptions } from '#test/beacon-replay.ts'
import { openNodeOfRun } from '#test/client-of-run.ts'
import { computedNetwork, openComputedServer } from '#test/computed-server.ts'
import { settingsWith } from '#test/context.ts'
import { type GloasSlot, gloasRecording, gloasTruth } from '#test/gloas-recording.ts'
import { makeChain } from '#test/made-chain.ts'
import { openMadeChainNode } from '#test/made-chain-node.ts'
import { serveScript } from '#test/scripted-server.ts'
import { createValidatorsCaches } from '../../context.ts'
import { acceptedAddresses, createBlockCheck, isWrongRecipient } from './check-blocks.ts'
import { openRelays } from './relays.ts'
import type { WatchedValidator } from './watched-validators.ts'

const addressOf = (byte: string) => `0x${byte.repeat(20)}`
const [expected, other, builder] = ['aa', 'bb', 'b1'].map(addressOf) as [string, string, string]

const validator = (index: number, changes: Partial<WatchedValidator> = {}): WatchedValidator => ({
  ...{ index, pool: null, operator: null, eligibilityEpoch: 0, activationEpoch: 0, exitEpoch: null },
  ...changes,
})

test('the first entry that matches network, pool, operator and index applies', () => {
  const network = 'hoodi' as const
  const rules = [
    { network, validators: [7, 8], addresses: [addressOf('01')] },
    { network, pool: 'North', operator: 'Ops', addresses: [addressOf('02')] },
    { network, pool: 'North', addresses: [addressOf('AB')] },
    { network, operator: 'Ops', addresses: [addressOf('04')] },
  ]
  const accepted = (watched: WatchedValidator) => acceptedAddresses(rules, watched)
  assert.deepEqual(accepted(validator(7, { pool: 'North' })), [addressOf('01')])
  assert.deepEqual(accepted(validator(9, { pool: 'North', operator: 'Ops' })), [addressOf('02')])
  assert.deepEqual(accepted(validator(9, { pool: 'North' })), [addressOf('ab')])
  assert.deepEqual(accepted(validator(9, { pool: 'South', operator: 'Ops' })), [addressOf('04')])
  assert.equal(accepted(validator(9)), undefined)
})

/** A transfer of one ether, as a transaction of type 2. */
const transferTo = (address: string) => {
  const fields = `0107040405${'94'}${address.slice(2)}${'88'}0de0b6b3a7640000${'80c0010101'}`
  return Buffer.from(`02${(0xc0 + fields.length / 2).toString(16)}${fields}`, 'hex')
}

test('a block is right if its fees or a payment of the builder go to an accepted address', () => {
  const lastTransactions = [transferTo(other), transferTo(expected), transferTo(other)]
  assert.equal(isWrongRecipient({ feeRecipient: expected, lastTransactions: [] }, undefined, [expected]), false)
  assert.equal(isWrongRecipient({ feeRecipient: builder, lastTransactions }, undefined, [expected]), false)
  assert.equal(isWrongRecipient({ feeRecipient: builder, lastTransactions }, undefined, [addressOf('cc')]), true)
  assert.equal(isWrongRecipient({ feeRecipient: builder, lastTransactions: [] }, null, [expected]), true)
  const paid = { proposerFeeRecipient: expected }
  assert.equal(isWrongRecipient({ feeRecipient: builder, lastTransactions: [] }, paid, [expected]), false)
  assert.equal(isWrongRecipient({ feeRecipient: builder, lastTransactions: [] }, paid, [other]), true)
  // A transaction of an unknown type may be the payment.
  const unreadable = [...lastTransactions.slice(0, 1), Buffer.alloc(12, 7)]
  assert.equal(isWrongRecipient({ feeRecipient: builder, lastTransactions: unreadable }, undefined, [expected]), false)
})

test('exactly the blocks of watched validators with other fee recipients or from other relays are found', async () => {
  const network = simulateAlertsNetwork()
  await using node = await openNodeOfRun(network)
  const epochs = { from: 2, until: 9 }
  const watched = new Map([8, 45, 50, 51, 52, 55, 58, 60, 63].map((index) => [index, validator(index)]))
  const blocks = [...network.blocks.values()].filter(
    ({ slot, proposer }) => slot >= 16 && slot < 72 && watched.has(proposer),
  )
  const delivered = (slot: number) => slot % 2 === 0
  await using one = await serveScript(() => ({ body: '[]' }))
  await using two = await serveScript(({ url }) => {
    const slot = Number(new URL(url, 'http://relay').searchParams.get('slot'))
    const hash = network.blocks.get(slot)?.payload.hash
    const traces = [{ slot: String(slot), block_hash: `0x${'0'.repeat(64)}`, proposer_fee_recipient: expected }]
    if (delivered(slot)) traces.push({ slot: String(slot), block_hash: String(hash), proposer_fee_recipient: other })
    return { body: JSON.stringify(traces) }
  })
  await using failing = await serveScript({ status: 503 })
  const warnings: string[] = []
  const caches = createValidatorsCaches()
  const log: Log = { ...silentLog, warn: (_, message) => void warnings.push(message), child: () => log }
  const check = (urls: readonly string[], addresses?: readonly string[]) => {
    const relays = urls.map((url) => ({ network: 'hoodi', url }))
    const expectedFeeRecipients = addresses ? [{ network: 'hoodi', addresses }] : []
    const settings = settingsWith({ validators: { relays, expectedFeeRecipients } })
    const beacon = openBeacon({ network: 'hoodi', urls: [node.url], timeoutMs: 10_000, clock: systemClock })
    return createBlockCheck({ settings, log, clock: systemClock, validators: caches }, 'hoodi', beacon)
  }
  const problemsOf = async (...input: Parameters<typeof check>) =>
    (await check(...input)?.(epochs, watched))?.map(({ duty, epoch, slot, validator, feeRecipient }) => {
      const block = network.blocks.get(slot)
      assert.deepEqual([validator, feeRecipient, epoch], [block?.proposer, block?.payload.feeRecipient, slot >> 3])
      return `${duty} ${slot}`
    })
  assert(blocks.length > 10)
  assert.equal(check([]), undefined, 'nothing is configured')
  const unknown = blocks.filter(({ slot }) => !delivered(slot)).map(({ slot }) => `unknown_relay ${slot}`)
  assert.deepEqual(await problemsOf([one.url, two.url]), unknown)
  assert.deepEqual(
    await problemsOf([one.url]),
    blocks.map(({ slot }) => `unknown_relay ${slot}`),
  )
  // A relay that does not answer may have delivered the other blocks.
  assert.deepEqual(await problemsOf([failing.url, two.url]), [])
  assert.equal(warnings.length, unknown.length)
  // Simulated transactions cannot be read, so that only empty blocks are known to pay nobody else.
  const empty = blocks.filter(({ payload }) => payload.transactions.length === 0)
  const wrongIn = (list: typeof empty) => list.map(({ slot }) => `wrong_fee_recipient ${slot}`)
  assert(empty.length > 0 && empty.length < blocks.length)
  assert.deepEqual(await problemsOf([], [expected]), wrongIn(empty))
  const accepted = empty[0]?.payload.feeRecipient ?? ''
  const right = ({ payload }: (typeof empty)[number]) => payload.feeRecipient === accepted
  assert.deepEqual(
    await problemsOf([], [expected, accepted.toUpperCase().replace('0X', '0x')]),
    wrongIn(empty.filter((block) => !right(block))),
  )
})

test('blocks and deposits of the epochs that were just stored come from their states, without requests', async () => {
  await using chain = await makeChain({ preset: 'minimal', validators: 64, slots: 9 * 8 })
  await using node = await openMadeChainNode(chain)
  node.states.set('genesis', await readFile(chain.stateFile))
  node.finalized = 6
  await using folder = await mkdtempDisposable(join(tmpdir(), 'tetrad-states-'))
  await using server = await openComputedServer([node.url])
  const indices = Array.from({ length: 20 }, (_, index) => index)
  const watch = [...indices.map(String), `0x${'ab'.repeat(48)}`]
  await using opened = await server.open({ folder: folder.path, watch })
  await opened.follower.catchUp(new AbortController().signal)
  await using relay = await serveScript(() => ({ body: '[]' }))
  const relays = [{ network: computedNetwork, url: relay.url }]
  const settings = settingsWith({ validators: { relays } })
  const context = { ...opened.context, settings, clock: systemClock }
  const check = createBlockCheck(context, computedNetwork, opened.beacon)
  const epochs = { from: 1, until: 5 }
  node.requests.length = 0
  const problems = await check?.(epochs, new Map(indices.map((index) => [index, validator(index)])))
  const proposerOf = (slot: number) => new View(chain.block(slot)).u64(108)
  const expectedSlots = chain.slots.filter((slot) => slot >= 8 && slot < 40 && proposerOf(slot) < 20)
  assert(expectedSlots.length > 3)
  assert.deepEqual(
    problems?.map(({ slot, epoch, duty }) => [slot, epoch, duty]),
    expectedSlots.map((slot) => [slot, slot >> 3, 'unknown_relay']),
  )
  assert.deepEqual(node.requests, [])
  const sources = opened.context.validators.examined.get(computedNetwork)
  assert.deepEqual(sources?.epochs, { from: 0, until: 5 })
  assert.deepEqual(sources.deposits, new Uint8Array())
})

test('a relay that hangs does not delay the answer of another one', async () => {
  const hash = `0x${'11'.repeat(32)}`
  let isClosed = false
  const hanging = createServer((request) => {
    request.socket.on('close', () => {
      isClosed = true
    })
  })
  await new Promise<void>((resolve) => hanging.listen(0, '127.0.0.1', resolve))
  await using relay = await serveScript({ body: [{ slot: '7', block_hash: hash, proposer_fee_recipient: expected }] })
  try {
    const urls = [`http://127.0.0.1:${(hanging.address() as AddressInfo).port}`, relay.url]
    assert.deepEqual(await openRelays(urls).find(7, hash), { proposerFeeRecipient: expected })
    // Another round trip, in which a closed connection would be noticed.
    await openRelays([relay.url]).find(7, hash)
    assert.equal(isClosed, false, 'the other request has not ended')
  } finally {
    hanging.closeAllConnections()
    hanging.close()
  }
})

test('a relay whose list cannot be read is unknown, and a payload is missing only if two lists lack it', async () => {
  const hash = `0x${'ab'.repeat(32)}`
  const trace = { slot: '7', block_hash: hash, proposer_fee_recipient: expected }
  const altered: unknown[] = [
    { ...trace, slot: '8' },
    { ...trace, slot: 7.5 },
    { ...trace, block_hash: hash.slice(2) },
    { ...trace, block_hash: [hash] },
    { ...trace, proposer_fee_recipient: null },
    { ...trace, proposer_fee_recipient: [expected] },
    null,
  ]
  for (const entry of altered) {
    await using relay = await serveScript({ body: [entry] })
    await assert.rejects(openRelays([relay.url]).find(7, hash), /did not return a list of payloads of slot 7$/)
  }
  await using forgetful = await serveScript({ body: '[]' }, { body: [trace] })
  assert.deepEqual(await openRelays([forgetful.url]).find(7, hash), { proposerFeeRecipient: expected })
  await using without = await serveScript({ body: '[]' })
  assert.equal(await openRelays([without.url]).find(7, hash), null)
  assert.equal(without.requests.length, 2)
})

describe('since Gloas', () => {
  const epochs = { from: 6, until: 9 }
  const watched = new Map(Array.from({ length: 64 }, (_, index) => [index, validator(index)]))
  const slotsOf = (isMatch: (slot: GloasSlot) => boolean) =>
    gloasTruth()
      .slots.filter((entry) => entry.slot >= 48 && entry.slot < 72 && entry.proposed && isMatch(entry))
      .map(({ slot }) => slot)
  const isPublished = ({ envelopeStatus }: GloasSlot) => envelopeStatus === 200

  async function check(addresses: readonly string[], { meddle, rpc = [] }: CheckOptions = {}) {
    await using replay = await openReplay({ recording: gloasRecording, ...(meddle && { meddle }) })
    const urls = [replay.url]
    const beacon = openBeacon({ network: 'hoodi', urls, timeoutMs: 10_000, clock: systemClock, backoffMs: 1 })
    const execution = { rpc: rpc.map((url) => ({ url })) }
    const settings = settingsWith({
      validators: { expectedFeeRecipients: [{ network: 'hoodi', addresses }], networks: { hoodi: { execution } } },
    })
    const context = { settings, log: silentLog, clock: systemClock, validators: createValidatorsCaches() }
    const found = (await createBlockCheck(context, 'hoodi', beacon)?.(epochs, watched)) ?? []
    for (const { slot, epoch, validator: index, duty } of found) {
      assert.deepEqual([epoch, duty], [slot >> 3, 'wrong_fee_recipient'])
      assert.equal(index, gloasTruth().slots.find((entry) => entry.slot === slot)?.proposer)
    }
    return found
  }
  interface CheckOptions {
    readonly meddle?: NonNullable<ReplayOptions['meddle']>
    readonly rpc?: readonly string[]
  }
  const withoutEnvelopes =
    (status: number): NonNullable<ReplayOptions['meddle']> =>
    (exchange) =>
      exchange.path.includes('/execution_payload_envelopes/')
        ? { ...exchange, status, headers: {}, bodyEncoding: 'utf8', body: '{}' }
        : exchange

  test('the bid of a builder names the address that it pays, and the payload of a proposer its own', async () => {
    const all = await check([expected])
    assert.deepEqual(
      all.map(({ slot }) => slot),
      slotsOf((entry) => entry.selfBuilt === false || isPublished(entry)),
    )
    for (const { feeRecipient } of [all[0], all.at(-1)] as (typeof all)[number][]) {
      const others = all.filter((problem) => problem.feeRecipient !== feeRecipient)
      assert.deepEqual(await check([expected, feeRecipient]), others)
    }
  })

  test('without envelopes, the execution node has the fee recipient of a payload that the proposer built', async () => {
    const built = slotsOf(({ selfBuilt }) => selfBuilt === false)
    const slotsFrom = async (options: CheckOptions) => (await check([expected], options)).map(({ slot }) => slot)
    assert.deepEqual(await slotsFrom({ meddle: withoutEnvelopes(404) }), built, 'nothing is known about the others')
    const executed = slotsOf(({ selfBuilt, payload }) => selfBuilt === true && payload === 'full')
    const hashes = new Set(
      gloasTruth()
        .slots.filter(({ payload }) => payload === 'full')
        .map(({ blockHash }) => blockHash),
    )
    await using node = await serveScript(({ body }) => {
      const reply = ({ id, method, params }: RpcRequest) => ({
        ...{ jsonrpc: '2.0', id },
        result:
          method === 'eth_chainId'
            ? // As the recorded beacon node states in config/spec.
              '0x5'
            : hashes.has(params[0])
              ? { hash: params[0], miner: addressOf('BB') }
              : null,
      })
      const request = JSON.parse(body) as RpcRequest | RpcRequest[]
      return { body: Array.isArray(request) ? request.map(reply) : reply(request) }
    })
    for (const status of [404, 500]) {
      const options = { meddle: withoutEnvelopes(status), rpc: [node.url] }
      const all = [...built, ...executed].sort((a, b) => a - b)
      assert.deepEqual(await slotsFrom(options), all)
    }
    const accepted = await check([expected, other], { meddle: withoutEnvelopes(404), rpc: [node.url] })
    assert.deepEqual(
      accepted.map(({ slot }) => slot),
      built,
    )
  })
})

interface RpcRequest {
  readonly id: number
  readonly method: string
  readonly params: readonly [string]
}
