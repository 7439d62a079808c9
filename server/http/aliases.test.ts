import assert from 'node:assert/strict'
import { test } from 'node:test'
import { aliases } from './aliases.ts'

const none = { paths: {}, requestHeaders: {}, responseFields: {} }

test('behaviour/http.md#aliases: a path alias keeps its placeholders and the query', () => {
  const { path } = aliases({ ...none, paths: { '/gamma/{slug}': '/markets/slug/{slug}', '/api': '/v2/api' } })
  assert.equal(path('/gamma/a-b?include_tag=false'), '/markets/slug/a-b?include_tag=false')
  assert.equal(path('/api?module=account'), '/v2/api?module=account')
  assert.equal(path('/apix'), '/apix')
  assert.equal(path('/gamma/a/b'), '/gamma/a/b')
})

test('behaviour/http.md#aliases: a header alias never overrides the header itself', () => {
  const { requestHeaders } = aliases({ ...none, requestHeaders: { 'X-Old-Network': 'X-Validator-Network' } })
  const one: Record<string, string> = { 'x-old-network': 'hoodi' }
  requestHeaders(one)
  assert.equal(one['x-validator-network'], 'hoodi')
  const both: Record<string, string> = { 'x-old-network': 'hoodi', 'x-validator-network': 'holesky' }
  requestHeaders(both)
  assert.equal(both['x-validator-network'], 'holesky')
})

test('behaviour/http.md#aliases: response fields are renamed only as keys; everything else stays byte for byte', () => {
  const { responseFields } = aliases({ ...none, responseFields: { oracleBond: 'vendorBond', id: 'ID' } })
  assert.ok(responseFields)
  assert.equal(
    responseFields('{"id": "id", "oracleBond":"\\"oracleBond\\":1","n":12345678901234567890,"a":["id","oracleBond"]}'),
    '{"ID": "id", "vendorBond":"\\"oracleBond\\":1","n":12345678901234567890,"a":["id","oracleBond"]}',
  )
})

test('without aliases nothing is changed', () => {
  const table = aliases(none)
  assert.equal(table.path('/x?y'), '/x?y')
  assert.equal(table.responseFields, undefined)
})
