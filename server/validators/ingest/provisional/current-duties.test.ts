// Current duties on a recorded chain of Gloas: payload committees and proposed blocks.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { systemClock } from '#runtime/clock.ts'
import { openBeacon } from '#sources/beacon/client.ts'
import { firstSlotAt } from '#sources/beacon/consensus.ts'
import { openReplay, type ReplayOptions } from '#test/beacon-replay.ts'
import { gloasRecording, gloasTruth } from '#test/gloas-recording.ts'
import { seatsOf } from '../epochs/payload-seats.ts'
import { createBeaconQueries } from '../read/beacon-queries.ts'
import { NodeBlocks } from '../read/node-blocks.ts'
import { type CurrentDuties, createCurrentDutiesReader, type KnownSeats } from './current-duties.ts'

const { signal } = new AbortController()
/** All of them. */
const watched = new Set(Array.from({ length: 66 }, (_, index) => index))

/** Reads the duties at the first slot of epochs whose first slot has a block. `seats`: known from the states. */
async function readDuties(
  epochs: readonly number[],
  { knowsSeats = true, ...changes }: { knowsSeats?: boolean; meddle?: NonNullable<ReplayOptions['meddle']> } = {},
): Promise<CurrentDuties[]> {
  await using replay = await openReplay({ recording: gloasRecording, more: ['debug-states'], ...changes })
  const urls = [replay.url]
  const node = openBeacon({ network: 'hoodi', urls, timeoutMs: 10_000, clock: systemClock, backoffMs: 1 })
  const { rules } = await node.chain(signal)
  const queries = createBeaconQueries(node, rules, signal)
  const all: CurrentDuties[] = []
  for (const epoch of epochs) {
    const from = Math.max(1, firstSlotAt(rules, epoch - 1))
    const blocks = await new NodeBlocks().read(queries, from, firstSlotAt(rules, epoch) + 1)
    const state = await queries.state(firstSlotAt(rules, epoch - 1))
    const seats = new Map<number, Uint32Array>()
    for (const [at, position] of [
      [epoch - 1, 'now'],
      [epoch, 'next'],
    ] as const) {
      const known = seatsOf(rules, state?.validators.payloads, position)
      if (known && knowsSeats) seats.set(at, known)
    }
    all.push(await createCurrentDutiesReader(node, rules)(blocks, watched, seats satisfies KnownSeats, signal))
  }
  return all
}

const epochs = [6, 9, 12, 17]
const truthOf = (epoch: number) => gloasTruth().epochs.find((entry) => entry.epoch === epoch)?.rows ?? []

test('votes of payload committees are included, missing, or cannot be on the chain', async () => {
  const states = new Set<string>()
  for (const [at, { payloadVotes, headSlot }] of (await readDuties(epochs)).entries()) {
    const epoch = epochs[at] as number
    const previous = new Map(
      payloadVotes.filter((duty) => duty.epoch === epoch - 1).map((duty) => [duty.validator, duty]),
    )
    for (const { validator, ptc } of truthOf(epoch - 1)) {
      const duty = previous.get(validator)
      assert.equal(duty?.slot, ptc?.slot)
      if (!ptc || !duty) continue
      assert.equal(duty.state, ptc.included ? 'included' : ptc.includable ? 'missing' : 'impossible')
      assert.equal(duty.vote?.isPresent ?? null, ptc.payloadPresent)
      assert.equal(duty.dueMs, 4500)
      states.add(duty.state)
    }
    for (const { epoch: of, slot, state } of payloadVotes)
      if (of >= epoch) assert.deepEqual([state, slot >= headSlot], ['due', true])
    assert.deepEqual([...new Set(payloadVotes.map((duty) => duty.epoch))], [epoch - 1, epoch, epoch + 1])
  }
  assert.deepEqual([...states].sort(), ['impossible', 'included', 'missing'])
})

test('without the seats, duties are known and votes are not', async () => {
  const [duties] = await readDuties([9], { knowsSeats: false })
  const previous = duties?.payloadVotes.filter(({ epoch }) => epoch === 8) ?? []
  const expected = truthOf(8).flatMap(({ validator, ptc }) =>
    ptc ? [[validator, ptc.slot, ptc.includable ? 'unknown' : 'impossible'] as const] : [],
  )
  assert.deepEqual(previous.map(({ validator, slot, state }) => [validator, slot, state]).sort(byValidator), expected)
})

test('a node that fails to return payload committees leaves the other duties', async () => {
  const meddle: NonNullable<ReplayOptions['meddle']> = (exchange) =>
    exchange.path.includes('/duties/ptc/')
      ? { ...exchange, status: 500, bodyEncoding: 'utf8', body: '{"code":500,"message":"no"}' }
      : exchange
  const [[duties], [expected]] = [await readDuties([9], { meddle }), await readDuties([9])]
  assert(duties && expected)
  assert.deepEqual({ ...duties, payloadVotes: [] }, { ...expected, payloadVotes: [] })
  const known = expected.payloadVotes.filter(({ epoch }) => epoch < 10)
  assert(known.length > 0 && known.length < expected.payloadVotes.length)
  assert.deepEqual(duties.payloadVotes, known)
})

const byValidator = ([a]: readonly unknown[], [b]: readonly unknown[]): number => Number(a) - Number(b)

test('proposed blocks name the builder, and the next block decides about the payload', async () => {
  const { slots } = gloasTruth()
  for (const { blocks, headSlot, headRoot } of await readDuties(epochs)) {
    const from = headSlot - 8
    const expected = slots
      .filter(({ slot, proposed }) => proposed && slot >= from && slot <= headSlot)
      .map(({ slot, proposer, payload, selfBuilt, builderIndex, bidValue }) => ({
        ...{ slot, proposer, payload: slot === headSlot ? 'unknown' : payload },
        builder: selfBuilt ? undefined : Number(builderIndex),
        valueGwei: bidValue,
      }))
    assert.deepEqual(blocks, expected)
    assert.equal(headRoot, slots.find(({ slot }) => slot === headSlot)?.root)
  }
})
