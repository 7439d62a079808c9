import assert from 'node:assert/strict'
import { test } from 'node:test'
import { describeOldClient } from './client-releases.ts'

test('a client that is older than the first known release for a fork is named with both', () => {
  const old = describeOldClient('Geth/v1.16.5-stable-3fbf2a4e/linux-amd64/go1.24', ['osaka'])
  assert.equal(old, 'runs Geth 1.16.5, which is older than 1.16.6, the first known release for osaka')
  const prysm = describeOldClient('Prysm/v6.1.4/abc (linux amd64)', ['electra', 'fulu'])
  assert.equal(prysm, 'runs Prysm 6.1.4, which is older than 7.0.0, the first known release for fulu')
  // The newest fork counts.
  assert.match(describeOldClient('Geth/v1.16.5', ['osaka', 'amsterdam']) ?? '', /older than 1\.17\.8, .* amsterdam$/)
})

test('a release for the fork, a newer one, an unknown client and an unknown fork are not reported', () => {
  for (const version of ['Geth/v1.16.6-stable', 'Geth/v1.17.0', 'Geth/v2.0.0', 'Erigon/v3.0.0', 'anvil/v1.7.1', ''])
    assert.equal(describeOldClient(version, ['osaka', 'fulu']), undefined, version)
  assert.equal(describeOldClient('Geth/v1.10.0', ['electra', 'more blobs']), undefined)
})
