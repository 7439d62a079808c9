import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { createAliases } from './aliases.ts'

const none = { paths: {}, requestHeaders: {}, responseFields: {}, hiddenFields: [] }

test('behaviour/http.md#aliases: a path alias keeps its placeholders and the query', () => {
  const { resolvePath } = createAliases({
    ...none,
    paths: { '/gamma/{slug}': '/markets/slug/{slug}', '/api': '/v2/api' },
  })
  assert.equal(resolvePath('/gamma/a-b?include_tag=false'), '/markets/slug/a-b?include_tag=false')
  assert.equal(resolvePath('/api?module=account'), '/v2/api?module=account')
  assert.equal(resolvePath('/apix'), '/apix')
  assert.equal(resolvePath('/gamma/a/b'), '/gamma/a/b')
})

test('behaviour/http.md#aliases: a header alias never overrides the header itself', () => {
  const { addHeaders } = createAliases({ ...none, requestHeaders: { 'X-Old-Network': 'X-Validator-Network' } })
  const one: Record<string, string> = { 'x-old-network': 'hoodi' }
  addHeaders(one)
  assert.equal(one['x-validator-network'], 'hoodi')
  const both: Record<string, string> = { 'x-old-network': 'hoodi', 'x-validator-network': 'holesky' }
  addHeaders(both)
  assert.equal(both['x-validator-network'], 'holesky')
})

test('behaviour/http.md#aliases: response fields are renamed only as keys; everything else stays byte for byte', () => {
  const { changeFields } = createAliases({ ...none, responseFields: { oracleBond: 'vendorBond', id: 'ID' } })
  assert.ok(changeFields)
  assert.equal(
    changeFields('{"id": "id", "oracleBond":"\\"oracleBond\\":1","n":12345678901234567890,"a":["id","oracleBond"]}'),
    '{"ID": "id", "vendorBond":"\\"oracleBond\\":1","n":12345678901234567890,"a":["id","oracleBond"]}',
  )
})

test('behaviour/http.md#aliases: hidden fields are left out with their values; the rest stays byte for byte', () => {
  const { changeFields: change } = createAliases({
    ...none,
    hiddenFields: ['h', 'g'],
    responseFields: { a: 'b', h: 'x' },
  })
  assert.ok(change)
  for (const [text, expected] of [
    ['{"a": 1, "h": 2, "c": 3}', '{"b": 1, "c": 3}'],
    ['{"h":1}', '{}'],
    ['{"h":1,"g":2}', '{}'],
    ['{"a":1,"h":1,"g":2}', '{"b":1}'],
    ['{"a":1 , "h":null }', '{"b":1  }'],
    ['{"h":{"h":[1,"]}"]},"a":"h","c":["h",{"g":"\\"}"}]}', '{"b":"h","c":["h",{}]}'],
    ['{"n":12345678901234567890,"h":-1.5e3}', '{"n":12345678901234567890}'],
    ['[{"h":[]},{"a":true,"h":false},"h"]', '[{},{"b":true},"h"]'],
    ['id: 7\ndata: {"h":1,"a":2}\n\n', 'id: 7\ndata: {"b":2}\n\n'],
  ] as const)
    assert.equal(change(text), expected, text)
})

test('strings of any length, with any number of escapes, are not too long to rename and hide fields', () => {
  const { changeFields: change } = createAliases({ ...none, hiddenFields: ['h'], responseFields: { a: 'b' } })
  for (const part of ['x', '\\n', '\\\\', '\\"']) {
    const long = `"${part.repeat(12_000_000)}"`
    assert.ok(change?.(`{"a":${long},"h":${long}}`) === `{"b":${long}}`, part)
  }
})

test('hidden fields: the text without them is the JSON without them, for any JSON', () => {
  const names = fc.constantFrom('a', 'h', 'g', '"h":1,')
  const { value } = fc.letrec((tie) => ({
    value: fc.oneof(
      { depthSize: 'small' },
      fc.jsonValue({ maxDepth: 0 }),
      fc.array(tie('value'), { maxLength: 3 }),
      fc.dictionary(names, tie('value')),
    ),
  }))
  const { changeFields: change } = createAliases({ ...none, hiddenFields: ['h', 'g'] })
  const prune = (_: string, member: unknown): unknown =>
    typeof member === 'object' && member !== null && !Array.isArray(member)
      ? Object.fromEntries(Object.entries(member).filter(([name]) => name !== 'h' && name !== 'g'))
      : member
  fc.assert(
    fc.property(value, fc.constantFrom(0, 2), (json, space) => {
      const changed = JSON.parse(change?.(JSON.stringify(json, null, space)) ?? '')
      assert.deepEqual(changed, JSON.parse(JSON.stringify(json, prune)))
    }),
  )
})

test('without aliases nothing is changed', () => {
  const table = createAliases(none)
  assert.equal(table.resolvePath('/x?y'), '/x?y')
  assert.equal(table.changeFields, undefined)
})
