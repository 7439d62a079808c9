import assert from 'node:assert/strict'
import { test } from 'node:test'
import { depositQueueEpoch, lastAppliedEpoch, registryQueues } from './queues.ts'
import type { WatchedValidator } from './watched-validators.ts'

const validator = (index: number, changes: Partial<WatchedValidator>) => {
  const usual = { pool: 'North', operator: 'Ops', eligibilityEpoch: 0, activationEpoch: 0, exitEpoch: null }
  return [index, { index, ...usual, ...changes }] as const
}

test('activation and exit: the epoch of the last validator in each queue, by pool and operator', () => {
  const watched = new Map([
    validator(1, { activationEpoch: 12 }),
    validator(2, { activationEpoch: 15 }),
    validator(3, { activationEpoch: null, eligibilityEpoch: 8 }),
    validator(4, { exitEpoch: 10 }),
    validator(5, { exitEpoch: 30, operator: null }),
    validator(6, { activationEpoch: null, eligibilityEpoch: null, operator: null }),
    // The chain is not final: it is activated later than usual.
    validator(7, { activationEpoch: null, eligibilityEpoch: 2, pool: 'South' }),
  ])
  assert.deepEqual(registryQueues(watched, 10), [
    { pool: 'North', operator: 'Ops', queue: 'activation', epoch: 15 },
    { pool: 'North', operator: 'none', queue: 'exit', epoch: 30 },
    { pool: 'South', operator: 'Ops', queue: 'activation', epoch: 11 },
  ])
  assert.equal(
    registryQueues(new Map([validator(3, { activationEpoch: null, eligibilityEpoch: 8 })]), 10)[0]?.epoch,
    14,
  )
  const many = new Map(Array.from({ length: 200_000 }, (_, index) => validator(index, { exitEpoch: 20 + index })))
  assert.equal(registryQueues(many, 10)[0]?.epoch, 200_019)
})

const ether = 1_000_000_000
const rules = {
  depositChurn: {
    ...{ quotient: 65_536, min: 128 * ether, max: 256 * ether },
    gloas: { quotient: 32_768, max: 256 * ether },
  },
  pendingDepositsPerEpochMax: 16,
}

test('deposits: the churn and the number per epoch determine the earliest epoch', () => {
  const deposits = (count: number, gwei: number) =>
    Array.from({ length: count }, (_, at) => ({ pubkey: `key ${at}`, gwei, slot: 1, address: undefined }))
  const epochOf = (list: ReturnType<typeof deposits>, key: string) =>
    lastAppliedEpoch(rules, 100, list, ({ pubkey }) => pubkey === key)
  // Eight deposits of 32 ether per epoch.
  assert.equal(epochOf(deposits(50, 32 * ether), 'key 7'), 101)
  assert.equal(epochOf(deposits(50, 32 * ether), 'key 8'), 102)
  // At most 16 small ones.
  assert.equal(epochOf(deposits(50, ether), 'key 15'), 101)
  assert.equal(epochOf(deposits(50, ether), 'key 16'), 102)
  assert.equal(epochOf(deposits(50, 2048 * ether), 'key 1'), 116)
  assert.equal(epochOf(deposits(50, ether), 'other'), undefined)
})

test('deposits of the watch list are found by key and by address in the queue of the newest state', () => {
  const [key, otherKey, address] = ['ab'.repeat(48), '01'.repeat(48), 'cd'.repeat(20)]
  const deposit = (pubkey: string, credentials: string) => {
    const record = Buffer.alloc(192)
    record.write(pubkey + credentials, 'hex')
    record.writeBigUInt64LE(BigInt(32 * ether), 80)
    record.writeBigUInt64LE(8n, 184)
    return record
  }
  const ofBls = '00'.repeat(32)
  const others = Array.from({ length: 16 }, () => deposit(otherKey, ofBls))
  const deposits = Buffer.concat([deposit(key, ofBls), ...others, deposit(otherKey, `02${'00'.repeat(11)}${address}`)])
  const sources = { epochs: { from: 3, until: 13 }, proposed: [], deposits }
  const epochFor = (...watch: string[]) =>
    depositQueueEpoch({ ...rules, pendingDepositsPerEpochMax: 3 }, sources, watch)
  assert.equal(epochFor(`0x${key.toUpperCase()}`), 14)
  assert.equal(epochFor(`0x${address}`), 19)
  assert.equal(epochFor(`0x${'ee'.repeat(20)}`), undefined)
  assert.equal(epochFor('7', '8'), undefined)
})
