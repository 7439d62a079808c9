// A whole server ingests a recorded chain that crosses the fork to Gloas, with states that it computes and with those of
// the node. Every figure of 4.5, 4.6 and 4.7 in its HTTP responses equals an independent truth.
import assert from 'node:assert/strict'
import { before, describe, test } from 'node:test'
import { systemClock } from '#runtime/clock.ts'
import { createKey } from '#storage/keys.ts'
import { coveredEpochs } from '#validators/duties/coverage.ts'
import { openReplay, type ReplayOptions } from './beacon-replay.ts'
import { openEmptyServer } from './empty-server.ts'
import { openGloasExecution, withExecution } from './gloas-execution.ts'
import { gloasRecording, gloasTruth } from './gloas-recording.ts'
import { aggregateReplies, effectivenessReplies, gloasTime, metadataReplies, type Reply } from './gloas-replies.ts'
import { gloasRows } from './gloas-rows.ts'
import { slotOfBlock, withOneState } from './recorded-chain.ts'
import type { Row } from './validators-reference.ts'

/** Epochs that are final in the recording, and whose next epoch is. */
const epochsUntil = 17
const headSlot = 160
const granularities = ['day', 'week', 'month', 'quarter', 'year', 'all'] as const
const pollMs = 50
const pollsMax = 6000

type Meddle = NonNullable<ReplayOptions['meddle']>

/** One byte of a signature differs, so the block has another root than the one in the next block. */
const alteredBlocks: Meddle = (exchange) => {
  if (exchange.bodyEncoding !== 'base64' || !slotOfBlock.test(exchange.path)) return exchange
  const bytes = Buffer.from(exchange.body, 'base64')
  bytes[300] = (bytes[300] as number) ^ 1
  return { ...exchange, body: bytes.toString('base64') }
}

describe('a server that reads a chain across the fork to Gloas', () => {
  let rows: readonly Row[]

  before(() => {
    rows = gloasRows(gloasTruth(), epochsUntil)
  })

  const computed = { states: 'computed' }
  /** The nodes of each server, and what it changes in its settings. */
  const forms: Readonly<Record<string, readonly [nodes: readonly ReplayOptions[], changes: object]>> = {
    'computed from blocks and one state': [[{ meddle: withOneState(0) }], computed],
    'computed, with a node that returns altered blocks before another one': [
      [{ meddle: alteredBlocks }, { meddle: withOneState(0) }],
      computed,
    ],
    'states of the node': [[{}], {}],
    'states of the node, of the first and last slot of each epoch': [[{ more: [] }], {}],
  }

  for (const [name, [nodes, changes]] of Object.entries(forms)) {
    test(`4.5, 4.6 and 4.7 equal the truth: ${name}`, async () => {
      await using server = await openRead(nodes, changes)
      await assertAggregates(server.get, rows)
      await assertEffectiveness(server.get, rows)
      await assertMetadata(server.get)
    })
  }

  for (const [name, states] of Object.entries({ 'computed states': computed, 'states of the node': {} })) {
    test(`4.5 equals the truth with an execution node: ${name}`, async () => {
      const truth = gloasTruth()
      await using execution = await openGloasExecution(truth)
      await using server = await openRead([{}], { ...states, execution: { rpc: [{ url: execution.url }] } })
      const addressOf = new Map(metadataReplies(epochsUntil).map((one) => [one.validatorIndex, one.withdrawalAddress]))
      const known = withExecution(truth, rows, (proposer) => [addressOf.get(proposer) ?? []].flat() as string[])
      assert(known.some((row) => row.priority_fee > 0) && known.some((row) => row.baseline_mev > 0))
      await assertAggregates(server.get, known)
    })
  }

  test('live duties equal the truth: payload votes, proposed blocks and their builders', async () => {
    const truth = gloasTruth()
    await using server = await openRead([{}], { showProvisional: true })
    const dutiesOf = (validator: number) => server.get(`/v1/eth/validators/${validator}/duties`)
    for (let polls = 0; polls < pollsMax && (await dutiesOf(0)).headSlot !== headSlot; polls++)
      await systemClock.sleep(pollMs)
    const current = Math.floor(headSlot / gloasTime.slotsPerEpoch)
    let seenVotes = 0
    for (const { validator, ptc } of truth.epochs[current - 1]?.rows ?? []) {
      const { payloadVotes, blocks } = await dutiesOf(validator)
      const [vote] = (payloadVotes as Reply[]).filter(({ epoch }) => epoch === current - 1)
      const state = ptc?.included ? 'included' : ptc?.includable ? 'missing' : 'impossible'
      assert.deepEqual(
        vote && [vote.slot, vote.state, vote.payloadSeen, vote.blobsSeen],
        ptc ? [ptc.slot, state, ptc.payloadPresent, ptc.blobDataAvailable] : undefined,
      )
      seenVotes += ptc ? 1 : 0
      const proposed = truth.slots.filter(
        (slot) => slot.proposer === validator && slot.proposed && slot.slot >= (current - 1) * gloasTime.slotsPerEpoch,
      )
      assert.deepEqual(
        blocks,
        proposed.map(({ slot, payload, selfBuilt, builderIndex, bidValue }) => ({
          ...{ slot, payload: payload ?? 'unknown', builder: selfBuilt ? null : Number(builderIndex) },
          valueGwei: bidValue,
        })),
      )
    }
    assert(seenVotes > 30)
  })

  type Get = (path: string) => Promise<Record<string, unknown>>

  async function openRead(nodes: readonly ReplayOptions[], changes: object) {
    await using cleanup = new AsyncDisposableStack()
    const urls: string[] = []
    for (const options of nodes) {
      const node = cleanup.use(await openReplay({ recording: gloasRecording, more: ['debug-states'], ...options }))
      urls.push(node.url)
    }
    const { epochsPerHour, epochsPerDay } = gloasTime
    const hoodi = { epochsPerHour, epochsPerDay, beacon: { urls, fromEpoch: 0 }, ...changes }
    const endMs = (gloasTime.genesisUnix + (headSlot + 0.5) * gloasTime.slotSeconds) * 1000
    const server = cleanup.use(
      await openEmptyServer(
        { validators: { networks: { hoodi } }, console: { enabled: false } },
        { ...systemClock, now: () => endMs },
      ),
    )
    const { state, duties, clock, random } = server.context
    const caller = { name: 'gloas', plan: 'enterprise', groups: ['validators'] } as const
    const { key } = await createKey(state, { ...caller, groups: [...caller.groups] }, clock, random)
    const covered = () => coveredEpochs(duties, 'hoodi')
    for (let polls = 0; polls < pollsMax && (await covered()).at(-1)?.until !== epochsUntil; polls++)
      await systemClock.sleep(pollMs)
    assert.deepEqual(await covered(), [{ from: 0, until: epochsUntil }])
    const get: Get = async (path) => {
      const headers = { authorization: `Bearer ${key}`, 'x-validator-network': 'hoodi' }
      const response = await fetch(`${server.url}${path}`, { headers })
      assert.equal(response.status, 200, path)
      return (await response.json()) as Record<string, unknown>
    }
    const resources = cleanup.move()
    return { get, [Symbol.asyncDispose]: () => resources.disposeAsync() }
  }

  async function assertAggregates(get: Get, rows: readonly Row[]): Promise<void> {
    const everyone = Array.from({ length: 66 }, (_, index) => index)
    const groups: readonly (readonly number[])[] = [everyone, [5, 40, 56, 63], [10], [12, 64]]
    for (const indices of groups) {
      const named = rows.filter(({ validator }) => indices.includes(validator))
      for (const by of ['validator', 'timeWindow'] as const) {
        const isEveryone = indices === everyone
        for (const granularity of isEveryone ? granularities : (['day', 'all'] as const)) {
          const query = `indices=${indices}&groupBy=${by}&granularity=${granularity}&size=1000`
          const { data, total } = await get(`/v0/eth/validators/effectiveness?${query}`)
          const expected = aggregateReplies(gloasTime, by, granularity, named)
          assertReplies(data as Reply[], expected, `4.5 ${query}`)
          assert.equal(total, expected.length)
        }
      }
    }
  }

  async function assertEffectiveness(get: Get, rows: readonly Row[]): Promise<void> {
    for (let validator = 0; validator < 64; validator++) {
      const validatorRows = rows.filter((row) => row.validator === validator)
      const isSample = validator % 16 === 8
      for (const granularity of isSample ? (['hour', ...granularities] as const) : (['hour'] as const)) {
        for (const utc of isSample ? [false, true] : [false]) {
          const query = `granularity=${granularity}&utc=${utc}&limit=1000`
          const { results } = await get(`/v1/eth/validators/${validator}/effectiveness?${query}`)
          assertReplies(
            results as Reply[],
            effectivenessReplies(gloasTime, utc, granularity, validatorRows),
            `4.6 ${validator} ${query}`,
          )
        }
      }
    }
  }

  async function assertMetadata(get: Get): Promise<void> {
    const expected = metadataReplies(epochsUntil)
    assert.equal(expected.length, 66)
    for (const reply of expected) {
      assert.deepEqual(await get(`/v0/eth/validators/${reply.validatorIndex}`), reply)
    }
    for (const reply of expected.slice(-4)) {
      assert.deepEqual(await get(`/v0/eth/validators/${reply.validatorPubkey}`), reply)
    }
  }
})

/** Fractions may differ in the last digits. */
function assertReplies(actual: readonly Reply[], expected: readonly Reply[], label: string): void {
  const idOf = ({ validatorIndex = null, startEpoch, endEpoch }: Reply) => [validatorIndex, startEpoch, endEpoch]
  assert.deepEqual(actual.map(idOf), expected.map(idOf), label)
  for (const [at, record] of expected.entries()) {
    const found = actual[at] as Reply
    assert.deepEqual(Object.keys(found).sort(), Object.keys(record).sort(), `${label}, ${idOf(record)}`)
    for (const [name, value] of Object.entries(record)) {
      const other = found[name]
      const isNear = typeof value === 'number' && typeof other === 'number' && Math.abs(value - other) <= 1e-9
      assert(isNear || value === other, `${label}, ${idOf(record)}, ${name}: ${other}, not ${value}`)
    }
  }
}
