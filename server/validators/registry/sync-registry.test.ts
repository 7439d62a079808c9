// What a registry writes after a restart, when every validator of a state is compared with what is stored.
import { strict as assert } from 'node:assert'
import { test } from 'node:test'
import type { State } from '#storage/state.ts'
import { stateWith } from '#test/authorization.ts'
import { openContext } from '#test/context.ts'
import { readEntries, readValidator, toBytes } from './registry.ts'
import { findRegistryChanges, type RegistrySnapshot, syncRegistry } from './sync-registry.ts'

const network = 'mainnet'
const count = 2500
const sender = `0x${'5e'.repeat(20)}`

/** One in three has an address, one in five has begun to exit. */
function snapshotOf(validators: number): RegistrySnapshot {
  const pubkeys = new Uint8Array(48 * validators)
  const credentials = new Uint8Array(32 * validators)
  const words = { pubkeys: new DataView(pubkeys.buffer), credentials: new DataView(credentials.buffer) }
  for (let index = 0; index < validators; index++) {
    words.pubkeys.setUint32(48 * index, 7 * index)
    if (index % 3 === 0) credentials[32 * index] = 1
    words.credentials.setUint32(32 * index + 28, index)
  }
  const epochs = (epochOf: (index: number) => number) =>
    Float64Array.from({ length: validators }, (_, at) => epochOf(at))
  return {
    ...{ count: validators, pubkeys, credentials },
    eligible: epochs((index) => (index === 7 ? Number.POSITIVE_INFINITY : 0)),
    activation: epochs((index) => index),
    exit: epochs((index) => (index % 5 === 0 ? 900 : Number.POSITIVE_INFINITY)),
    withdrawable: epochs((index) => (index % 5 === 0 ? 1156 : Number.POSITIVE_INFINITY)),
  }
}

/** Counts the rows that are handed to the database, by table. */
function countRows(state: State): { readonly state: State; readonly rows: Map<string, number> } {
  const rows = new Map<string, number>()
  const counted: State = stateWith(state, {
    write: (work, options) =>
      state.write(
        (tx) =>
          work({
            ...tx,
            insertMany: (into, columns, values, end) => {
              if (values.length > 0) rows.set(into, (rows.get(into) ?? 0) + values.length)
              return tx.insertMany(into, columns, values, end)
            },
          }),
        options,
      ),
  })
  return { state: counted, rows }
}

test('after a restart, only validators that differ from what is stored are written', async () => {
  await using context = await openContext()
  const before = snapshotOf(count)
  const { state, rows } = countRows(context.ingest)
  await syncRegistry(state, network, findRegistryChanges(before, undefined, undefined))
  const addresses = (sum: number) => ['withdrawal_addresses', sum] as const
  assert.deepEqual([...rows], [addresses(834), ['validators', count]])
  const stored = await context.ingest.all('select * from validators order by validator_index')
  rows.clear()
  await syncRegistry(state, network, findRegistryChanges(before, undefined, undefined))
  assert.deepEqual([...rows], [])
  assert.deepEqual(await context.ingest.all('select * from validators order by validator_index'), stored)

  const after = snapshotOf(count + 3)
  const changes = [
    ...([[0, 'exit', 5]] as const),
    ...([[1001, 'activation', Number.POSITIVE_INFINITY]] as const),
    ...([[2001, 'withdrawable', 77]] as const),
    ...([[2499, 'eligible', 1]] as const),
  ]
  for (const [index, column, epoch] of changes) after[column][index] = epoch
  after.credentials[32 * 4] = 1
  await syncRegistry(state, network, findRegistryChanges(after, undefined, undefined))
  assert.deepEqual([...rows], [addresses(5), ['validators', changes.length + 1 + 3]])
  const entries = await readEntries(context.ingest, network, [0, 4, 1001, 2001, 2499, 2502])
  assert.deepEqual(
    entries.map(({ activationEligibilityEpoch, activationEpoch, exitEpoch, withdrawableEpoch, withdrawalAddress }) => [
      ...[activationEligibilityEpoch, activationEpoch, exitEpoch, withdrawableEpoch],
      withdrawalAddress,
    ]),
    [
      [0, 0, 5, 1156, `0x${'00'.repeat(20)}`],
      [0, 4, null, null, `0x${'00'.repeat(19)}04`],
      [0, null, null, null, null],
      [0, 2001, null, 77, `0x${'00'.repeat(18)}07d1`],
      [1, 2499, null, null, `0x${'00'.repeat(18)}09c3`],
      [0, 2502, null, null, `0x${'00'.repeat(18)}09c6`],
    ],
  )
})

test('a validator is stored together with the senders of its deposits', async () => {
  await using context = await openContext()
  const { pubkeys } = snapshotOf(3)
  const key = pubkeys.subarray(48, 96)
  await context.ingest.write((tx) =>
    tx.insertMany(
      'deposit_senders',
      ['network', 'pubkey', 'address', 'deposit_index'],
      [[network, key, toBytes(sender), 4]],
    ),
  )
  let writes = 0
  const failsLater = stateWith(context.ingest, {
    write: (work, options) => {
      writes += 1
      if (writes > 1) throw new Error('the process was killed')
      return context.ingest.write(work, options)
    },
  })
  const changes = findRegistryChanges(snapshotOf(3), undefined, undefined)
  await syncRegistry(failsLater, network, changes).catch(() => {})
  await syncRegistry(context.ingest, network, changes)
  assert.deepEqual((await readValidator(context.ingest, network, 1))?.depositAddresses, [sender])
})
