import { strict as assert } from 'node:assert'
import { describe, test } from 'node:test'
import { HistoryWriter } from '#explorer/labels/history.ts'
import { putLabels } from '#explorer/labels/labels.ts'
import { putTags } from '#explorer/labels/tags.ts'
import { openContext, settingsWith, type TestContext } from '#test/context.ts'
import { importEntities } from '#validators/entities/import-entities.ts'
import { linkDepositsOf } from '#validators/registry/link-deposits.ts'
import { putValidators, readEntities, toBytes } from '#validators/registry/registry.ts'
import { readLabelEntities } from './label-entities.ts'

const network = 'mainnet'
const { signal } = new AbortController()
const [vault, plain, payer, mixer] = ['a', 'b', 'c', 'd'].map((digit) => `0x${digit.repeat(40)}`) as [
  ...[string, string, string, string],
]
const pubkeyOf = (index: number) => `0x${String(index).padStart(96, '0')}`

const settingsOf = (entities: object) => ({
  validators: {
    networks: { [network]: { epochsPerHour: 1, epochsPerDay: 10, execution: { chainId: '1' }, entities } },
  },
})
const openLabels = (entities: object) => openContext(settingsOf(entities))

const register = (context: TestContext, owners: Readonly<Record<number, string | null>>) =>
  putValidators(
    context.ingest,
    network,
    Object.entries(owners).map(([index, withdrawalAddress]) => ({
      ...{ index: Number(index), pubkey: pubkeyOf(Number(index)), activationEligibilityEpoch: 0, activationEpoch: 0 },
      ...{ exitEpoch: null, withdrawableEpoch: null, withdrawalAddress },
    })),
  )

const deposit = (context: TestContext, address: string, indices: readonly number[]) =>
  context.ingest.write(async (tx) => {
    const keys = indices.map((index) => toBytes(pubkeyOf(index)))
    const sql = 'insert into deposit_senders (network, pubkey, address, deposit_index) values (?, ?, ?, 0)'
    for (const key of keys) await tx.run(sql, network, key, toBytes(address))
    await linkDepositsOf(tx, network, keys)
  })

interface Labelled {
  readonly address: string
  readonly name: string
  readonly entity?: string
  readonly source?: string
  readonly confidence?: number
  readonly chain?: string
}

const label = (context: TestContext, tags: readonly Labelled[]) =>
  context.ingest.write(
    async (tx) => {
      const history = new HistoryWriter(tx, { by: 'test', via: 'test', atMs: 0 })
      const slugs = new Set(tags.flatMap(({ entity = '' }) => (entity === '' ? [] : [entity])))
      await putLabels(
        history,
        [...slugs].map((slug) => ({ chain: '1', slug, name: `The ${slug}`, description: '' })),
      )
      await putTags(
        history,
        tags.map((tag) => ({ chain: '1', source: 'mine', ...tag })),
      )
    },
    { lock: 'labels' },
  )

const pools = async (context: TestContext, indices: readonly number[]) => {
  const entities = await readEntities(context.ingest, network, indices)
  return indices.map((index) => entities.get(index)?.pool)
}

describe('a labelled withdrawal address', () => {
  test('names the pool, by its entity or its own name, after rules and only if it is switched on', async () => {
    await using context = await openLabels({ fromLabels: true })
    await register(context, { 1: vault, 2: plain, 3: payer, 4: null, 5: mixer })
    await label(context, [
      { address: vault, name: 'Vault 1', entity: 'pool' },
      { address: vault, name: 'Something else', source: 'other', confidence: 10 },
      { address: plain, name: 'Plain' },
      { address: mixer, name: 'On another chain', chain: '137' },
    ])
    await importEntities(context.ingest, network, [{ at: 1, record: { index: 2, pool: 'Rule' } }], 'mine')
    assert.equal((await readLabelEntities(context, network, signal)).changed, 1)
    assert.deepEqual(await pools(context, [1, 2, 3, 4, 5]), ['The pool', 'Rule', undefined, undefined, undefined])
    const off = { ...context, settings: settingsWith(settingsOf({})) }
    await readLabelEntities(off, network, signal)
    assert.deepEqual(await pools(context, [1, 2]), [undefined, 'Rule'])
  })

  test('follows its label', async () => {
    await using context = await openLabels({ fromLabels: true })
    await register(context, { 1: vault })
    await label(context, [{ address: vault, name: 'First' }])
    const { rules } = await readLabelEntities(context, network, signal)
    assert.equal((await readLabelEntities(context, network, signal, rules)).changed, 0)
    await label(context, [{ address: vault, name: 'Second' }])
    await readLabelEntities(context, network, signal, rules)
    assert.deepEqual(await pools(context, [1]), ['Second'])
  })
})

describe('a labelled deposit address', () => {
  test('names the pool only if its entity is one of stakingLabels', async () => {
    await using context = await openLabels({ fromLabels: true, stakingLabels: ['pool'] })
    await register(context, { 1: vault, 2: plain, 3: null })
    await deposit(context, payer, [1, 3])
    await deposit(context, mixer, [2])
    await label(context, [
      { address: payer, name: 'Depositor', entity: 'pool' },
      { address: mixer, name: 'Hot wallet', entity: 'exchange' },
    ])
    await readLabelEntities(context, network, signal)
    assert.deepEqual(await pools(context, [1, 2, 3]), ['The pool', undefined, undefined])
  })

  test('never if it deposits for more than one withdrawal address, not even for a moment', async () => {
    await using context = await openLabels({ fromLabels: true, stakingLabels: ['pool'] })
    await register(context, { 1: vault })
    await deposit(context, payer, [1])
    await label(context, [{ address: payer, name: 'Depositor', entity: 'pool' }])
    await readLabelEntities(context, network, signal)
    await register(context, { 2: plain })
    await deposit(context, payer, [2])
    // The rules are applied before the labels are read again.
    await importEntities(context.ingest, network, [], 'mine')
    assert.deepEqual(await pools(context, [1, 2]), ['The pool', undefined])
    await readLabelEntities(context, network, signal)
    assert.deepEqual(await pools(context, [1, 2]), [undefined, undefined])
  })
})
