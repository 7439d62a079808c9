// The next fork of a schedule (behaviour/validators.md#unknown-forks).
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { readRules } from './consensus.ts'
import { describeFork, findNextFork, listForks } from './next-fork.ts'

const identity = { genesisUnix: 1000, genesisRoot: '0x', slotSeconds: 12, slotsPerEpoch: 32 }
const chainOf = (spec: Readonly<Record<string, unknown>>) => ({ identity, spec, rules: readRules(spec) })
/** The start of an epoch: 1000 s + 384 s an epoch. */
const startMs = (epoch: number) => (1000 + 384 * epoch) * 1000
const far = '18446744073709551615'

test('the next fork is the first one that has not started', () => {
  const chain = chainOf({ FULU_FORK_EPOCH: '10', GLOAS_FORK_EPOCH: '20', HEZE_FORK_EPOCH: '30' })
  assert.equal(findNextFork(chain, startMs(10) - 1)?.name, 'fulu')
  assert.deepEqual(findNextFork(chain, startMs(10)), { name: 'gloas', epoch: 20, atMs: startMs(20), isKnown: true })
  assert.deepEqual(findNextFork(chain, startMs(20)), { name: 'heze', epoch: 30, atMs: startMs(30), isKnown: false })
  assert.equal(findNextFork(chain, startMs(30)), undefined)
})

test('more blobs are a change too; forks without an epoch are not', () => {
  const schedule = [{ EPOCH: '15', MAX_BLOBS_PER_BLOCK: '15' }, { EPOCH: far }, null]
  const chain = chainOf({ FULU_FORK_EPOCH: '10', GLOAS_FORK_EPOCH: far, BLOB_SCHEDULE: schedule })
  assert.deepEqual(
    listForks(chain).map(({ name, epoch }) => `${name} ${epoch}`),
    ['phase0 0', 'fulu 10', 'more blobs 15'],
  )
})

test('of two forks of one epoch, the unknown one is reported', () => {
  assert.equal(findNextFork(chainOf({ GLOAS_FORK_EPOCH: '20', HEZE_FORK_EPOCH: '20' }), startMs(0))?.name, 'heze')
})

test('a fork is described with its date and the days that are left', () => {
  const fork = { name: 'gloas', epoch: 500, atMs: Date.UTC(2026, 11, 5) }
  const text = describeFork(fork, Date.UTC(2026, 10, 19, 12))
  assert.equal(text, 'gloas of epoch 500 (2026-12-05T00:00:00.000Z, in 15 days)')
})
