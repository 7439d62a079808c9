import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { Fault } from '#core/fault.ts'
import { openContext, type TestContext, testRequestInfo } from '#test/context.ts'
import { HistoryWriter } from '../../labels/history.ts'
import { type LabelPatch, putLabels } from '../../labels/labels.ts'
import { putTags, type TagPatch } from '../../labels/tags.ts'
import { addressTag } from './address-tag.ts'

const address = '0x28c6c06298d514db089934071355e5743bf21d60'

const put = (context: TestContext, labels: readonly LabelPatch[], tags: readonly TagPatch[]) =>
  context.ingest.write(async (tx) => {
    const history = new HistoryWriter(tx, { by: 'ann', via: 'test', atMs: 1 })
    await putLabels(history, labels)
    await putTags(history, tags)
  })

const lookUp = (context: TestContext, input: string, chainid = '1') =>
  addressTag.handle({ chainid, address: input }, context, testRequestInfo())

const entity = (slug: string, name: string, more: Partial<LabelPatch> = {}) => ({ chain: '1', slug, name, ...more })

describe('200', () => {
  test('200: the label with the highest confidence names the address, and all its owners are listed', async () => {
    await using context = await openContext()
    await put(
      context,
      [
        entity('bridge', 'Harbour Bridge', { description: 'A bridge.' }),
        entity('exchange', 'Harbour Exchange', { description: 'An exchange.', notes: 'Audited.' }),
      ],
      [
        { chain: '1', address, source: 'list', name: 'Bridge wallet', entity: 'bridge', confidence: 60 },
        { chain: '1', address, source: 'unowned', name: 'Wallet', confidence: 70 },
        {
          ...{ chain: '1', address, source: 'own', name: 'Hot wallet 14', entity: 'exchange', confidence: 90 },
          ...{ evidenceUrl: 'https://proof.example/', updatedUnix: 1_790_000_000 },
        },
        { chain: '137', address, source: 'own', name: 'Another chain', confidence: 99 },
      ],
    )
    const outcome = await lookUp(context, `0x${address.slice(2).toUpperCase()}`)
    assert.deepEqual(outcome.is === 'body' && outcome.body, {
      status: '1',
      message: 'OK',
      result: [
        {
          address,
          nametag: 'Hot wallet 14',
          internal_nametag: '',
          url: 'https://proof.example/',
          shortdescription: 'An exchange.',
          notes_1: 'Audited.',
          notes_2: '',
          labels: ['Harbour Exchange', 'Harbour Bridge'],
          labels_slug: ['exchange', 'bridge'],
          reputation: 0,
          other_attributes: [],
          lastupdatedtimestamp: 1_790_000_000,
        },
      ],
    })
  })

  test('200: an address without an owner has no labels', async () => {
    await using context = await openContext()
    await put(context, [], [{ chain: '1', address, source: 'own', name: 'Wallet' }])
    const outcome = await lookUp(context, address)
    assert.ok(outcome.is === 'body')
    const [{ nametag, labels, labels_slug, shortdescription } = assert.fail()] = outcome.body.result
    assert.deepEqual([nametag, labels, labels_slug, shortdescription], ['Wallet', [], [], ''])
  })
})

describe('failures', () => {
  test('an address that has no label on this chain is not found', async () => {
    await using context = await openContext()
    await put(context, [], [{ chain: '137', address, source: 'own', name: 'Wallet' }])
    assert.equal((await lookUp(context, address)).is, 'nothing')
    assert.equal((await lookUp(context, address, '137')).is, 'body')
  })

  test('a malformed address and an unsupported chain are refused', async () => {
    await using context = await openContext()
    const isFault = (code: string) => (error: unknown) => error instanceof Fault && error.code === code
    await assert.rejects(lookUp(context, '0x12'), isFault('input.invalid'))
    assert.throws(() => addressTag.checkQuery?.({ chainid: '5' }, context), isFault('explorer.chain_unsupported'))
  })
})
