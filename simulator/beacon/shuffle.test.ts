// Committees and proposers against published vectors and against the recorded duties of a real node.
import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { test } from 'node:test'
import { blockFromSsz } from '#sources/beacon/block-ssz.ts'
import { committeesFromJson } from '#sources/beacon/committees.ts'
import { firstSlotAt, readRules } from '#sources/beacon/consensus.ts'
import { hashShort } from '#sources/beacon/sha256.ts'
import { View } from '#sources/beacon/ssz.ts'
import type { Validators } from '#sources/beacon/validators.ts'
import { openReplay } from '#test/beacon-replay.ts'
import { validatorsFromJson } from '#test/validators-json.ts'
import { computeCommittees, computeProposers, RoundBits, shuffledIndex, shuffleList } from './shuffle.ts'

const seed = Buffer.from('01b4f6bd5d6a06a7b74a8565ceb4f845afe0ae96a0ac05cf5e86066bf7b538ec', 'hex')

function shuffledRange(count: number, rounds: number): number[] {
  const list = Uint32Array.from({ length: count }, (_, index) => index)
  shuffleList(list, seed, rounds)
  return [...list]
}

test('shuffling follows the vectors of ethereum/consensus-spec-tests', () => {
  // From tests/{mainnet,minimal}/phase0/shuffling/core/shuffle: the cases of this seed with 33 members.
  const mainnet = '10 17 5 14 27 31 3 23 2 26 28 11 32 20 9 16 24 4 1 21 7 22 18 15 29 6 19 13 0 30 12 8 25'
  const minimal = '5 16 30 22 23 27 24 26 15 3 25 14 31 20 4 7 1 17 12 13 11 21 10 28 9 18 0 2 8 19 6 29 32'
  assert.equal(shuffledRange(33, 90).join(' '), mainnet)
  assert.equal(shuffledRange(33, 10).join(' '), minimal)
})

test('the file of the vector with 1000 members has the published checksum', () => {
  // The repository stores its files by their SHA-256. Lists wrap before column 86.
  const lines = [`seed: '0x${seed.toString('hex')}'`, 'count: 1000', 'mapping: [']
  const members = shuffledRange(1000, 90).map((index, at) => `${index}${at < 999 ? ',' : ']'}`)
  members.forEach((member, at) => {
    const line = lines.at(-1) as string
    const joined = at === 0 ? line + member : `${line} ${member}`
    if (joined.length + (at === 999 ? 1 : 0) > 85) lines.push(`  ${member}`)
    else lines[lines.length - 1] = joined
  })
  const checksum = createHash('sha256')
    .update(`${lines.join('\n')}\n`)
    .digest('hex')
  assert.equal(checksum, '1fe4a03c481ce317d63640d1caf23d3466c0583a194998a66d8a3be818a5932a')
})

test('the list and the single index give the same permutation, for every small size', () => {
  for (const count of [1, 2, 3, 5, 255, 256, 257, 600]) {
    const source = new RoundBits(seed, count)
    const single = Array.from({ length: count }, (_, index) => shuffledIndex(source, index, 90))
    assert.deepEqual(shuffledRange(count, 90), single, `${count} members`)
  }
})

test('short inputs have the SHA-256 of node:crypto', () => {
  const output = new Uint8Array(32)
  for (let length = 0; length <= 55; length++) {
    const input = Uint8Array.from({ length }, (_, at) => (at * 37 + length) & 255)
    hashShort(input, output)
    assert.equal(Buffer.from(output).toString('hex'), createHash('sha256').update(input).digest('hex'))
  }
  assert.throws(() => hashShort(new Uint8Array(56), output), RangeError)
})

test('since Electra, proposers are drawn by effective balances up to 2048 ETH', () => {
  const rules = readRules({ ELECTRA_FORK_EPOCH: '0', FULU_FORK_EPOCH: '0' })
  const count = 500
  const validators = {
    count,
    increments: Uint32Array.from({ length: count }, (_, index) => (index % 7 === 0 ? 2048 : 32)),
    activation: new Float64Array(count),
    exit: new Float64Array(count).fill(Number.POSITIVE_INFINITY),
  } as Validators
  // Computed with @chainsafe/swap-or-not-shuffle 1.2.1.
  const expected =
    '427 207 385 133 147 132 427 371 490 308 133 105 266 478 126 476 154 273 364 494 21 455 210 476 133 210 182 210 49 315 245 252'
  assert.equal(computeProposers(rules, 411_000, validators, seed).join(' '), expected)
})

/** The recorded chain: its rules, validators, and the RANDAO mix at the end of each epoch. */
async function readRecording(url: string) {
  const get = async (path: string): Promise<unknown> =>
    ((await (await fetch(url + path)).json()) as { data: unknown }).data
  const rules = readRules((await get('/eth/v1/config/spec')) as Record<string, unknown>)
  const validators = validatorsFromJson(await get('/eth/v1/beacon/states/0/validators'), rules.increment)
  const mixes: { slot: number; mix: Uint8Array }[] = []
  for (let slot = 1; slot < 136; slot++) {
    const reply = await fetch(`${url}/eth/v2/beacon/blocks/${slot}`, {
      headers: { accept: 'application/octet-stream' },
    })
    if (!reply.ok) continue
    const { payload } = blockFromSsz(new View(new Uint8Array(await reply.arrayBuffer())), 'deneb', rules)
    if (payload) mixes.push({ slot, mix: payload.prevRandao })
  }
  const mixBefore = (epoch: number) => mixes.find(({ slot }) => slot >= firstSlotAt(rules, epoch))?.mix as Uint8Array
  return { get, rules, validators, mixBefore }
}

test('committees and proposers equal the recorded duties of a real node', async () => {
  await using node = await openReplay()
  const { get, rules, validators, mixBefore } = await readRecording(node.url)
  for (let epoch = 0; epoch < 17; epoch++) {
    const first = firstSlotAt(rules, epoch)
    const mix = mixBefore(epoch - 1)
    const listed = await get(`/eth/v1/beacon/states/${first}/committees?epoch=${epoch}`)
    const expected = committeesFromJson(listed, first, rules.slotsPerEpoch)
    assert.deepEqual(computeCommittees(rules, epoch, validators, mix), expected, `epoch ${epoch}`)
    const duties = (await get(`/eth/v1/validator/duties/proposer/${epoch}`)) as {
      slot: string
      validator_index: string
    }[]
    const bySlot = new Map(duties.map(({ slot, validator_index }) => [Number(slot), Number(validator_index)]))
    const proposers = computeProposers(rules, epoch, validators, mix)
    // The genesis slot has no proposer.
    for (let at = epoch === 0 ? 1 : 0; at < rules.slotsPerEpoch; at++)
      assert.equal(proposers[at], bySlot.get(first + at), `slot ${first + at}`)
  }
})
