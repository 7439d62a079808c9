// The limit of deposits per epoch, in Electra and since Gloas (EIP-8061).
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { readRules } from '#sources/beacon/consensus.ts'
import { depositChurn } from './epoch-rules.ts'

const gloasFrom = 10
const eth = 1_000_000_000
/** ETH that may be deposited at the end of an epoch. `active`: millions of ETH. */
const churn = (active: number, epoch: number, spec: Record<string, string> = {}) =>
  depositChurn(readRules({ GLOAS_FORK_EPOCH: String(gloasFrom), ...spec }), epoch, active * 1_000_000) / eth

test('a share of the active stake in whole ETH, which is twice as large since Gloas', () => {
  // 6 000 000 / 32768 = 183.1, and 12 000 000 / 65536 = 183.1
  assert.deepEqual([churn(12, gloasFrom - 1), churn(6, gloasFrom)], [183, 183])
})

test('at least 128 ETH and at most 256 ETH, before and since Gloas', () => {
  assert.deepEqual([churn(6, gloasFrom - 1), churn(3, gloasFrom)], [128, 128])
  assert.deepEqual([churn(35, gloasFrom - 1), churn(35, gloasFrom)], [256, 256])
})

test('the constants of the node apply', () => {
  const spec = {
    CHURN_LIMIT_QUOTIENT: '40000',
    CHURN_LIMIT_QUOTIENT_GLOAS: '20000',
    MAX_PER_EPOCH_ACTIVATION_EXIT_CHURN_LIMIT: String(200 * eth),
    MAX_PER_EPOCH_ACTIVATION_CHURN_LIMIT_GLOAS: String(500 * eth),
    MIN_PER_EPOCH_CHURN_LIMIT_ELECTRA: String(64 * eth),
  }
  assert.deepEqual([churn(6, gloasFrom - 1, spec), churn(35, gloasFrom - 1, spec)], [150, 200])
  assert.deepEqual([churn(6, gloasFrom, spec), churn(35, gloasFrom, spec)], [300, 500])
  assert.deepEqual([churn(1, gloasFrom - 1, spec), churn(1, gloasFrom, spec)], [64, 64])
})
