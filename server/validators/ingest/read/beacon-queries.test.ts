// Responses of a beacon node with null fields, and about another slot than the requested one.
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { zstdDecompressSync } from 'node:zlib'
import type { Beacon } from '#sources/beacon/client.ts'
import { readRules } from '#sources/beacon/consensus.ts'
import type { BeaconReply } from '#sources/beacon/endpoint.ts'
import { createBeaconQueries } from './beacon-queries.ts'
import { createRewardQueries } from './reward-queries.ts'

const rules = readRules({ ELECTRA_FORK_EPOCH: null, SLOTS_PER_EPOCH: null, ALTAIR_FORK_EPOCH: '0' })

/** A node that returns this body for every request. */
const beaconReturning = (body: unknown): Beacon => {
  const reply: BeaconReply = { is: 'json', body, version: undefined }
  const beacon: Pick<Beacon, 'request'> = { request: async (_, read) => read(reply, 'node') }
  return beacon as Beacon
}

test('a null in the list of constants counts as omitted', () => {
  assert.deepEqual([rules.slotsPerEpoch, rules.forkEpochs.electra], [32, Number.POSITIVE_INFINITY])
})

test('a null part of a reward counts as zero', async () => {
  const part = { validator_index: '7', source: '5', target: '-6', head: '0', inactivity: null }
  const rewards = await createRewardQueries(beaconReturning({ data: { total_rewards: [part] } })).voteRewards(3)
  assert.deepEqual(rewards?.get(7), { source: 5, target: -6, head: 0, inactivity: 0 })
})

test('a block whose version is null is read with the fork of its slot', async () => {
  const folder = new URL('../../../../test/recordings/beacon/', import.meta.url)
  const lines = zstdDecompressSync(readFileSync(new URL('forks.ndjson.zst', folder)))
    .toString()
    .trim()
    .split('\n')
  const samples = lines.map((line) => JSON.parse(line))
  const roots = JSON.parse(readFileSync(new URL('fork-roots.json', folder), 'utf8')) as (string | null)[]
  const blocks = samples.filter(({ kind }) => kind === 'block')
  const at = blocks.findIndex(({ fork, preset }, index) => fork === 'altair' && preset === 'mainnet' && roots[index])
  const { json } = blocks[at]
  const slot = Number(json.message.slot)
  const block = await createBeaconQueries(beaconReturning({ version: null, data: json }), rules).block(slot)
  assert.deepEqual([block?.slot, block?.fork, block?.root], [slot, 'altair', roots[at]])
})

test('for an empty slot, the header of an earlier block is accepted, that of a later one is not', async () => {
  const zero = `0x${'0'.repeat(64)}`
  const message = { slot: '8', proposer_index: '1', parent_root: zero, state_root: zero, body_root: zero }
  const queries = createBeaconQueries(beaconReturning({ data: { root: zero, header: { message } } }), rules)
  assert.equal(await queries.header(9), undefined)
  await assert.rejects(queries.header(7), /requested the header of slot 7, got that of 8/)
})

test('a node without the deprecated version of proposer duties is asked for the new one', async () => {
  const paths: string[] = []
  const duties = Array.from({ length: 32 }, (_, at) => ({ slot: String(64 + at), validator_index: String(at + 7) }))
  const beacon: Pick<Beacon, 'request'> = {
    async request({ path }, read) {
      paths.push(path)
      return path.startsWith('/eth/v1/')
        ? undefined
        : read({ is: 'json', body: { data: duties }, version: undefined }, 'node')
    },
  }
  const proposers = await createBeaconQueries(beacon as Beacon, rules).proposers(2)
  assert.deepEqual([proposers?.[0], proposers?.[31]], [7, 38])
  assert.deepEqual(paths, ['/eth/v1/validator/duties/proposer/2', '/eth/v2/validator/duties/proposer/2'])
})
