// Recognizes the next fork in `eth_config`. The answers have the fields that geth 1.17.8 returned on a private chain.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { parseNextFork } from './next-fork.ts'

const blobs = (max: number) => ({ target: 6, max, baseFeeUpdateFraction: 5_007_716 })
const osaka = {
  activationTime: 0,
  blobSchedule: blobs(9),
  chainId: '0x1244d',
  forkId: '0x3cd0e9dd',
  precompiles: { ECREC: '0x01', P256VERIFY: '0x0100' },
  systemContracts: { BEACON_ROOTS_ADDRESS: '0x000f3df6d732807ef1319fb7b8bb8522d0beac02' },
}
const builders = { BUILDER_DEPOSIT_CONTRACT_ADDRESS: '0x0000bff4', BUILDER_EXIT_CONTRACT_ADDRESS: '0x000064d6' }
const amsterdam = {
  ...{ ...osaka, activationTime: 1_795_166_185, forkId: '0xaa8420d9' },
  systemContracts: { ...osaka.systemContracts, ...builders },
}
const atMs = 1_795_166_185_000

test('Amsterdam is recognized by the contracts that it adds', () => {
  const fork = parseNextFork({ current: osaka, next: amsterdam, last: amsterdam })
  assert.deepEqual(fork, { name: 'amsterdam', atMs, isKnown: true })
})

test('other limits of blobs are known', () => {
  const next = { ...osaka, activationTime: 1_795_166_185, blobSchedule: blobs(15) }
  assert.deepEqual(parseNextFork({ current: osaka, next }), { name: 'more blobs', atMs, isKnown: true })
})

test('a fork that adds something else, or nothing that can be seen, is unknown', () => {
  const later = { ...amsterdam, systemContracts: { ...amsterdam.systemContracts, OTHER_ADDRESS: '0x01' } }
  const same = { ...osaka, activationTime: 1_795_166_185 }
  for (const next of [later, same])
    assert.deepEqual(parseNextFork({ current: osaka, next }), { name: 'unknown fork', atMs, isKnown: false })
  const after = { ...later, activationTime: 1_795_166_185 }
  assert.equal(parseNextFork({ current: amsterdam, next: after })?.isKnown, false)
})

test('without a next fork the answer is null, and undefined if the answer cannot be read', () => {
  assert.equal(parseNextFork({ current: osaka, next: null, last: null }), null)
  for (const answer of [undefined, null, 'x', {}, { current: osaka, next: { activationTime: 'soon' } }])
    assert.equal(parseNextFork(answer), undefined)
})
