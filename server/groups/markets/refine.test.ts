import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ownFields } from './kinds.ts'
import { pastSlugsOf, refine } from './refine.ts'

test('null, empty texts, empty lists and empty objects are no values; false and 0 are, decision 0040', () => {
  const { fields, problems } = refine({
    kind: 'market',
    id: '1',
    fields: {
      question: '',
      slug: null,
      active: false,
      score: 0,
      feeSchedule: { exponent: null, takerOnly: false },
      category: undefined,
    },
  })
  assert.deepEqual(fields, { id: '1', active: false, score: 0, feeSchedule: { takerOnly: false } })
  assert.deepEqual(problems, [])
  const event = refine({ kind: 'event', id: '1', fields: { subEvents: [] } })
  assert.deepEqual(event.fields, { id: '1' })
  const nothing = refine({ kind: 'market', id: '1', fields: { feeSchedule: { rate: null } } })
  assert.deepEqual(nothing.fields, { id: '1' })
})

test('what the contract does not know is put aside and not mixed in, decision 0044', () => {
  const { fields, aside } = refine({ kind: 'tag', id: '7', fields: { label: 'Ports', zeta: 1, alpha: { deep: [1] } } })
  assert.deepEqual(fields, { id: '7', label: 'Ports' })
  assert.equal(JSON.stringify(aside), '{"alpha":{"deep":[1]},"zeta":1}')
  assert.equal(refine({ kind: 'tag', id: '7', fields: {} }).aside, undefined)
})

test('a wrong type is named with its field', () => {
  const { problems } = refine({ kind: 'market', id: '1', fields: { active: 'yes', endDate: '2026-02-30T00:00:00Z' } })
  assert.deepEqual(problems.map(({ at, says }) => `${at.join('.')} ${says}`).sort(), [
    'active must be boolean',
    'endDate must be a valid date-time',
  ])
})

test('links that the kind does not have, or too many of one, are named', () => {
  const links = { tags: ['1'], chats: ['2'], iconOptimized: ['3', '4'] }
  const { problems } = refine({ kind: 'market', id: '1', fields: {}, links })
  assert.deepEqual(
    problems.map(({ at }) => at[0]),
    ['chats', 'iconOptimized'],
  )
})

test('the same content is the same text, whatever the order it came in', () => {
  const one = refine({
    kind: 'market',
    id: '1',
    fields: { slug: 'a', active: true },
    links: { tags: ['1'], events: ['2'] },
  })
  const two = refine({
    kind: 'market',
    id: '1',
    fields: { active: true, slug: 'a' },
    links: { events: ['2'], tags: ['1'] },
  })
  assert.equal(JSON.stringify(one), JSON.stringify(two))
})

test('records shown by others are no values of their own', () => {
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
  [' ["one", "has space", 7]', ['one', '7']],
  ['["broken', []],
  ['{"a":1}', []],
]
for (const [text, expected] of slugs) {
  test(`past slugs in ${JSON.stringify(text)} are ${JSON.stringify(expected)}, decision 0042`, () =>
    assert.deepEqual(pastSlugsOf(text), expected))
}
