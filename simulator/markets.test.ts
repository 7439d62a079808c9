import assert from 'node:assert/strict'
import { test } from 'node:test'
import { contract } from '#api/contract.ts'
import { checker } from '#core/schema-check.ts'
import { bySlug } from '#markets/endpoints/by-slug.ts'
import { openContext, testRequestInfo } from '#test/context.ts'
import { createMarketRecords, loadMarkets } from './markets.ts'

interface Schema {
  readonly type?: string
  readonly properties?: Record<string, Schema>
  readonly items?: Schema
}

/** Every place in an answer where the contract has a field: `events[].series[].title`. */
function* placesIn(schema: Schema, path = ''): Generator<string> {
  if (schema.items) yield* placesIn(schema.items, `${path}[]`)
  for (const [name, member] of Object.entries(schema.properties ?? {})) {
    const here = path === '' ? name : `${path}.${name}`
    yield here
    yield* placesIn(member, here)
  }
}

/** The places that hold a value in this answer. */
function* valuesIn(value: unknown, path = ''): Generator<string> {
  if (Array.isArray(value)) for (const item of value) yield* valuesIn(item, `${path}[]`)
  else if (typeof value === 'object' && value !== null) {
    for (const [name, member] of Object.entries(value)) {
      const here = path === '' ? name : `${path}.${name}`
      yield here
      yield* valuesIn(member, here)
    }
  }
}

async function documentsOf(seed: string) {
  await using context = await openContext()
  const sample = await loadMarkets(context, seed)
  const rows = await context.state.all<{ slug: string; body: Uint8Array }>('select slug, body from market_documents')
  const past = await bySlug.handle({ slug: sample.pastSlug, include_tag: true }, context, testRequestInfo())
  return { sample, past, documents: rows.map(({ slug, body }) => ({ slug, text: Buffer.from(body).toString() })) }
}

test('every field of the contract has a value in some response', async () => {
  const { documents } = await documentsOf('test')
  const seen = new Set(documents.flatMap(({ text }) => [...valuesIn(JSON.parse(text))]))
  const wanted = [...placesIn(contract['markets.bySlug'].reply as Schema)]
  assert.ok(wanted.length > 500, `${wanted.length} places`)
  assert.deepEqual(
    wanted.filter((place) => !seen.has(place)),
    [],
  )
  assert.deepEqual(
    [...seen].filter((place) => !wanted.includes(place)),
    [],
  )
})

test('every response matches the contract', async () => {
  const { documents } = await documentsOf('test')
  const check = checker(contract['markets.bySlug'].reply)
  assert.ok(documents.length >= 38 && documents.length <= 44, `${documents.length} markets`)
  for (const { slug, text } of documents) assert.deepEqual(check(JSON.parse(text)), [], slug)
})

test('the sample market has many fields, is the one of the contract, and has a past slug', async () => {
  const { sample, past, documents } = await documentsOf('test')
  assert.equal(sample.slug, contract['markets.bySlug'].example.input.slug)
  const text = documents.find(({ slug }) => slug === sample.slug)?.text ?? ''
  assert.ok(text.length > 6000, `${text.length} characters`)
  assert.ok(past.is === 'bytes')
  assert.equal(Buffer.from(past.bytes).toString(), text)
})

test('prices add up to one, and venues to the total volume', async () => {
  const { documents } = await documentsOf('test')
  for (const { text } of documents) {
    const market = JSON.parse(text)
    const [yes, no] = JSON.parse(market.outcomePrices).map(Number)
    assert.ok(Math.abs(yes + no - 1) < 1e-9)
    assert.ok(Math.abs(market.volumeClob + market.volumeAmm - market.volumeNum) < 0.01)
    assert.ok(market.bestBid <= market.lastTradePrice && market.lastTradePrice <= market.bestAsk)
  }
})

test('slugs are unique, and the same seed gives the same markets', () => {
  const slugs = createMarketRecords('a')
    .filter(({ kind }) => kind === 'market')
    .map(({ fields }) => fields.slug)
  assert.equal(new Set(slugs).size, slugs.length)
  assert.deepEqual(createMarketRecords('a'), createMarketRecords('a'))
  assert.notDeepEqual(createMarketRecords('a'), createMarketRecords('b'))
})
