import assert from 'node:assert/strict'
import { test } from 'node:test'
import { systemClock } from '#runtime/clock.ts'
import { openBeacon } from '#sources/beacon/client.ts'
import { epochEndMs, simulateAlertsNetwork } from '#test/alerts-network.ts'
import { openAlteringProxy } from '#test/altering-proxy.ts'
import { openNodeOfRun } from '#test/client-of-run.ts'
import { settingsWith } from '#test/context.ts'
import { ManualClock } from '#test/manual-clock.ts'
import { createDepositQueue, lastAppliedEpoch, registryQueues } from './queues.ts'
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

test('deposits of the watch list are found by key and by address, with one request per chain hour', async () => {
  const network = simulateAlertsNetwork()
  await using node = await openNodeOfRun(network)
  const [key, otherKey, address] = [`0x${'ab'.repeat(48)}`, `0x${'01'.repeat(48)}`, `0x${'cd'.repeat(20)}`]
  const deposit = (pubkey: string, credentials: string) => ({
    ...{ pubkey, withdrawal_credentials: credentials, amount: '32000000000' },
    ...{ signature: `0x${'00'.repeat(96)}`, slot: '8' },
  })
  const ofBls = `0x${'00'.repeat(32)}`
  const others = Array.from({ length: 8 }, () => deposit(otherKey, ofBls))
  const last = deposit(otherKey, `0x02${'00'.repeat(11)}${address.slice(2)}`)
  const queue = [deposit(key, ofBls), ...others, ...others, last]
  let requests = 0
  await using proxy = await openAlteringProxy(node.url, ({ path }) => {
    if (!path.endsWith('/pending_deposits')) return undefined
    requests += 1
    return Buffer.from(JSON.stringify({ execution_optimistic: false, finalized: false, data: queue }))
  })
  const hoodi = { genesisUnix: network.genesisUnix, slotsPerEpoch: 8, epochsPerHour: 2, epochsPerDay: 6 }
  const time = settingsWith({ validators: { networks: { hoodi } } }).validators.networks.hoodi
  const beacon = openBeacon({ network: 'hoodi', urls: [proxy.url], timeoutMs: 10_000, clock: systemClock })
  const clock = new ManualClock(epochEndMs(11))
  const signal = new AbortController().signal
  const epochFor = (...watch: string[]) => createDepositQueue(beacon, time, clock, watch)(signal)
  const head = 13
  // The simulated chain applies three deposits per epoch.
  assert.equal((await beacon.chain()).rules.pendingDepositsPerEpochMax, 3)
  assert.equal(await epochFor(`0x${key.slice(2).toUpperCase()}`), head + 1)
  assert.equal(await epochFor(address), head + 6)
  assert.equal(await epochFor(`0x${'ee'.repeat(20)}`), undefined)
  const before = requests
  assert.equal(await epochFor('7', '8'), undefined)
  assert.equal(requests, before, 'a list of indices needs no request')
  const deposits = createDepositQueue(beacon, time, clock, [key])
  await deposits(signal)
  clock.advance(96_000)
  await deposits(signal)
  assert.equal(requests, before + 1)
  clock.advance(96_000)
  await deposits(signal)
  assert.equal(requests, before + 2)
})
