// The label search: matches, their order, and that the table in memory is never outdated.

import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { createContext } from '#server/context.ts'
import { createSeededRandom } from '#simulator/seeded-random.ts'
import { openIngest } from '#storage/open.ts'
import { openContext, type TestContext, testRequestInfo } from '#test/context.ts'
import { HistoryWriter } from '../../labels/history.ts'
import { type LabelPatch, putLabels, removeLabel } from '../../labels/labels.ts'
import { findTags, putTags, removeTags, type TagPatch } from '../../labels/tags.ts'
import { labelSearch } from './label-search.ts'
import { queryWords } from './match-words.ts'
import { searchEntries } from './search-table.ts'

const hot = '0x28c6c06298d514db089934071355e5743bf21d60'
const historyWriter = (tx: ConstructorParameters<typeof HistoryWriter>[0]) =>
  new HistoryWriter(tx, { by: 'ann', via: 'test', atMs: 1 })

async function put(
  context: Pick<TestContext, 'ingest'>,
  labels: readonly LabelPatch[],
  tags: readonly TagPatch[] = [],
) {
  await context.ingest.write(async (tx) => {
    const page = historyWriter(tx)
    await putLabels(page, labels)
    await putTags(page, tags)
  })
}

const exchange: LabelPatch = { chain: '1', slug: 'harbour-exchange', name: 'Harbour Exchange' }
const wallet: TagPatch = { chain: '1', address: hot, source: 'own', name: 'Hot wallet 14', entity: exchange.slug }

const ask = (
  context: TestContext,
  q: string,
  more: { chainid?: string; kind?: 'entity' | 'address'; limit?: number } = {},
) => labelSearch.handle({ q, limit: 20, ...more }, context, testRequestInfo())

/** The slugs and addresses of the matches. */
async function found(
  context: TestContext,
  q: string,
  more: { chainid?: string; limit?: number } = {},
): Promise<string[]> {
  const outcome = await ask(context, q, more)
  if (outcome.is !== 'body') return []
  return outcome.body.result.map(({ kind, slug, address }) => (kind === 'entity' ? slug : address) ?? '')
}

describe('200', () => {
  test('200: returns entities and addresses in the fields of the contract', async () => {
    await using context = await openContext()
    await put(context, [exchange], [{ ...wallet, confidence: 90 }])
    const outcome = await ask(context, 'harbour')
    assert.deepEqual(outcome.is === 'body' && outcome.body.result, [
      { kind: 'entity', chainid: '1', name: 'Harbour Exchange', slug: 'harbour-exchange' },
      {
        kind: 'address',
        chainid: '1',
        name: 'Hot wallet 14',
        slug: 'harbour-exchange',
        address: hot,
        source: 'own',
        confidence: 90,
      },
    ])
  })

  test('200: total counts the matches beyond the limit, and kind restricts them', async () => {
    await using context = await openContext()
    await put(context, [exchange, { ...exchange, chain: '137' }], [wallet])
    const counts = async (more: Parameters<typeof ask>[2]) => {
      const outcome = await ask(context, 'harbour', more)
      return outcome.is === 'body' && [outcome.body.result.map(({ kind }) => kind), outcome.body.total]
    }
    assert.deepEqual(await counts({ limit: 1 }), [['entity'], 3])
    assert.deepEqual(await counts({ limit: 1, kind: 'address' }), [['address'], 1])
    assert.deepEqual(await counts({ kind: 'entity', chainid: '137' }), [['entity'], 1])
  })

  test('200: exact matches come first, then prefixes; higher confidence before lower', async () => {
    await using context = await openContext()
    const tag = (digit: string, name: string, confidence: number): TagPatch => ({
      chain: '1',
      address: `0x${digit.repeat(40)}`,
      source: 'own',
      name,
      confidence,
    })
    await put(
      context,
      [
        { chain: '1', slug: 'old-harbour', name: 'Old Harbour' },
        { chain: '1', slug: 'harbour-exchange', name: 'Harbour Exchange' },
        { chain: '137', slug: 'harbour', name: 'Harbour' },
      ],
      [tag('1', 'Harbour 1', 40), tag('2', 'Harbour 2', 80), tag('3', 'Wallet of Harbour', 100)],
    )
    const all = ['harbour', 'harbour-exchange', tag('2', '', 0).address, tag('1', '', 0).address, 'old-harbour']
    assert.deepEqual(await found(context, 'harbour'), [...all, tag('3', '', 0).address])
    assert.deepEqual(await found(context, 'harbour', { limit: 3 }), all.slice(0, 3))
    assert.deepEqual(await found(context, 'harbour', { chainid: '137' }), ['harbour'])
  })

  test('200: an address is found by its first digits, in any letter case', async () => {
    await using context = await openContext()
    await put(context, [exchange], [wallet])
    assert.deepEqual(await found(context, '0x28C6'), [hot])
    assert.deepEqual(await found(context, hot.toUpperCase()), [hot])
    assert.deepEqual(await found(context, '0x29'), [])
  })

  test('200: no match is "No data found"', async () => {
    await using context = await openContext()
    assert.deepEqual(await ask(context, 'nobody'), { is: 'nothing' })
  })
})

describe('200 with a failure envelope', () => {
  test('a query without a word is rejected', async () => {
    await using context = await openContext()
    await assert.rejects(ask(context, ' % '), { code: 'input.invalid' })
  })

  test('an unsupported chain is rejected; without chainid, all chains are searched', async () => {
    await using context = await openContext()
    const gate = (chainid?: string) =>
      labelSearch.checkQuery?.({ q: 'a', ...(chainid !== undefined && { chainid }) }, context)
    assert.throws(() => gate('99'), { code: 'explorer.chain_unsupported' })
    for (const chain of [undefined, '', '1']) assert.doesNotThrow(() => gate(chain))
  })
})

test('rule 1: the next search finds every edit, also those of other processes', async () => {
  await using context = await openContext()
  assert.deepEqual(await found(context, 'harbour'), [])
  await put(context, [exchange])
  assert.deepEqual(await found(context, 'harbour'), ['harbour-exchange'])
  const other = await openIngest(context.dir, context.settings.store)
  try {
    await put({ ingest: other }, [{ ...exchange, name: 'Lantern' }], [wallet])
  } finally {
    await other.close()
  }
  assert.deepEqual(await found(context, 'lantern'), ['harbour-exchange'])
  assert.deepEqual(await found(context, 'hot'), [hot])
  await context.ingest.write(async (tx) => {
    await removeLabel(historyWriter(tx), '1', 'harbour-exchange')
    await removeTags(historyWriter(tx), await findTags(tx, hot))
  })
  assert.deepEqual([await found(context, 'lantern'), await found(context, 'hot')], [[], []])
})

test('after any sequence of edits, the table gives the same results as the store', async () => {
  await using context = await openContext()
  const draws = createSeededRandom('edits')
  const names = ['Harbour', 'Lantern', 'Cobalt', 'Exchange', 'Wallet', 'Café']
  const name = () => `${draws.pick(names)} ${draws.pick(names)} ${draws.whole(0, 30)}`
  // One more than is applied from the history.
  for (const edits of [5, 40, 2100, 3, 60]) {
    const labels = Array.from({ length: edits }, () => ({
      chain: '1',
      slug: `s${draws.whole(0, 4000)}`,
      name: name(),
    }))
    const tags = Array.from({ length: edits % 1000 }, () => ({
      chain: '1',
      address: `0x${draws.whole(0, 40).toString(16).padStart(40, '0')}`,
      source: 'own',
      name: name(),
    }))
    await put(context, labels, tags)
    const gone = labels[0]?.slug ?? ''
    await context.ingest.write((tx) => removeLabel(historyWriter(tx), '1', gone))
    for (const q of ['lantern 1', 'cafe wal', gone, '0x0000']) {
      const search = { words: queryWords(q), limit: 1000 }
      // From memory, and from the store if there are too many rows (rule 2).
      const kept = await searchEntries(context, search)
      const other = await openIngest(context.dir, context.settings.store)
      const read = await searchEntries(createContext({ ...context, ingest: other }), search, 0)
      await other.close()
      assert.deepEqual(kept, read, `${edits} edits, ${q}`)
    }
  }
})
