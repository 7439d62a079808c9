import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type KindName, ownFields } from './kinds.ts'
import { normalizeRecord, parsePastSlugs } from './normalize.ts'

test('null is no value; empty strings and lists, false and 0 are values', () => {
  const { fields, problems, drift } = normalizeRecord({
    kind: 'market',
    id: '1',
    fields: {
      slug: 'm',
      question: '',
      marketMakerAddress: '',
      description: null,
      active: false,
      score: 0,
      feeSchedule: { exponent: null, takerOnly: false },
      category: undefined,
      novel: null,
    },
  })
  const expected = { id: '1', question: '', slug: 'm', marketMakerAddress: '', active: false, score: 0 }
  assert.deepEqual(fields, { ...expected, feeSchedule: { takerOnly: false } })
  assert.deepEqual([problems, drift], [[], []])
  const event = normalizeRecord({ kind: 'event', id: '1', fields: { subEvents: [], score: '' } })
  assert.deepEqual(event.fields, { id: '1', score: '', subEvents: [] })
})

test('unknown fields are stored separately', () => {
  const { fields, extraFields } = normalizeRecord({
    kind: 'tag',
    id: '7',
    fields: { label: 'Ports', zeta: 1, alpha: { deep: [1] } },
  })
  assert.deepEqual(fields, { id: '7', label: 'Ports' })
  assert.equal(JSON.stringify(extraFields), '{"alpha":{"deep":[1]},"zeta":1}')
  assert.equal(normalizeRecord({ kind: 'tag', id: '7', fields: {} }).extraFields, undefined)
})

test('a value of a wrong type is converted or removed, and reported as drift', () => {
  const stated = {
    slug: 'm',
    spread: '0.01',
    volume: 12.5,
    endDate: '2026-01-02 03:04:05+00',
    startDate: '2026-01-02',
    active: 'yes',
    question: ['Open?'],
    score: '',
    feeSchedule: { rate: '0.5', exponent: {}, odd: 1 },
  }
  const { fields, extraFields, drift, problems, emptied } = normalizeRecord({ kind: 'market', id: '1', fields: stated })
  assert.deepEqual(fields, {
    id: '1',
    slug: 'm',
    volume: '12.5',
    endDate: '2026-01-02T03:04:05+00:00',
    startDate: '2026-01-02T00:00:00Z',
    spread: 0.01,
    feeSchedule: { rate: 0.5 },
  })
  assert.deepEqual(problems, [])
  assert.deepEqual(emptied, ['question', 'active', 'score'])
  assert.deepEqual(extraFields, {
    active: 'yes',
    question: ['Open?'],
    score: '',
    'feeSchedule.exponent': {},
    'feeSchedule.odd': 1,
  })
  assert.deepEqual(drift.map(({ field, problem }) => `${problem}: ${field}`).sort(), [
    ...['converted: endDate', 'converted: feeSchedule.rate', 'converted: spread', 'converted: startDate'],
    ...['converted: volume', 'left out: active', 'left out: feeSchedule.exponent', 'left out: question'],
    ...['left out: score', 'unknown: feeSchedule.odd'],
  ])
})

test('only invalid items of a list are removed', () => {
  const { fields, drift } = normalizeRecord({ kind: 'event', id: '1', fields: { subEvents: ['a', null, 7, { b: 1 }] } })
  assert.deepEqual(fields, { id: '1', subEvents: ['a', '7'] })
  assert.deepEqual(
    drift.map(({ problem }) => problem),
    ['converted', 'left out'],
  )
})

test('a market needs a slug; other kinds do not', () => {
  const problemsOf = (kind: KindName, fields: object) =>
    normalizeRecord({ kind, id: '1', fields: { ...fields } }).problems
  for (const slug of [undefined, null, '', {}]) {
    assert.deepEqual(problemsOf('market', { slug }), [{ at: ['slug'], message: 'is required' }])
  }
  assert.deepEqual(problemsOf('market', { slug: 7 }), [])
  for (const kind of ['event', 'tag', 'image'] as const) assert.deepEqual(problemsOf(kind, {}), [])
})

test('unknown links and too many targets are reported', () => {
  const links = { tags: ['1'], chats: ['2'], iconOptimized: ['3', '4'] }
  const { problems } = normalizeRecord({ kind: 'market', id: '1', fields: { slug: 'm' }, links })
  assert.deepEqual(
    problems.map(({ at }) => at[0]),
    ['chats', 'iconOptimized'],
  )
})

test('the same content gives the same text in any order', () => {
  const one = normalizeRecord({
    kind: 'market',
    id: '1',
    fields: { slug: 'a', active: true },
    links: { tags: ['1'], events: ['2'] },
  })
  const two = normalizeRecord({
    kind: 'market',
    id: '1',
    fields: { active: true, slug: 'a' },
    links: { events: ['2'], tags: ['1'] },
  })
  assert.equal(JSON.stringify(one), JSON.stringify(two))
})

test('linked records are not own values', () => {
  for (const name of ['events', 'tags', 'categories', 'imageOptimized']) assert.ok(!ownFields.market.has(name), name)
  for (const name of ['markets', 'series', 'chats', 'templates']) assert.ok(!ownFields.event.has(name), name)
  assert.ok(ownFields.collection.has('tags'), "a collection's tags are a text (spec 2.4)")
})

const slugs: readonly [unknown, string[]][] = [
  [undefined, []],
  ['', []],
  ['old-name', ['old-name']],
  ['one, two,one', ['one', 'two']],
  ['["one","two"]', ['one', 'two']],
  [' ["one", "has space", 7, null]', ['one', '7']],
  ['["broken', []],
  ['{"a":1}', []],
]
for (const [text, expected] of slugs) {
  test(`past slugs in ${JSON.stringify(text)} are ${JSON.stringify(expected)}`, () =>
    assert.deepEqual(parsePastSlugs(text), expected))
}
