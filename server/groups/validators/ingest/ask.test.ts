// Answers of a beacon node in which absent members are null.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { readRules } from '#core/consensus.ts'
import type { Beacon, BeaconReply } from '#io/beacon/client.ts'
import { Asker } from './ask.ts'

const rules = readRules({ ELECTRA_FORK_EPOCH: null, SLOTS_PER_EPOCH: null, ALTAIR_FORK_EPOCH: '0' })

/** A node that gives this answer to every question. */
const answering = (body: unknown): Asker => {
  const reply: BeaconReply = { is: 'json', body, version: undefined }
  const beacon: Pick<Beacon, 'ask'> = { ask: async (_, read) => read(reply) }
  return new Asker(beacon as Beacon, rules)
}

test('a null in the list of rules counts as not listed', () => {
  assert.deepEqual([rules.slotsPerEpoch, rules.forkEpochs.electra], [32, Number.POSITIVE_INFINITY])
})

test('a part of a reward that is null is nothing', async () => {
  const part = { validator_index: '7', source: '5', target: '-6', head: '0', inactivity: null }
  const pays = await answering({ data: { total_rewards: [part] } }).voteRewards(3)
  assert.deepEqual(pays?.get(7), { source: 5, target: -6, head: 0, inactivity: 0 })
})

test('a block whose version is null is read by the fork of its slot', async () => {
  const root = `0x${'0'.repeat(64)}`
  const lists = ['proposer_slashings', 'attester_slashings', 'attestations', 'deposits'].map((name) => [name, []])
  const body = { ...Object.fromEntries(lists), sync_aggregate: { sync_committee_bits: '0x00' } }
  const message = { slot: '33', proposer_index: '1', parent_root: root, body }
  const block = await answering({ version: null, data: { message } }).block(33)
  assert.deepEqual([block?.slot, block?.fork], [33, 'altair'])
})
