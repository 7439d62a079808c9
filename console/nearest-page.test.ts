import assert from 'node:assert/strict'
import { test } from 'node:test'
import { findNearestPage } from './nearest-page.ts'
import { parseRoute } from './route.ts'

test('the nearest page has a similar name, and keeps the rest of the address if it has a place for it', () => {
  for (const [mistyped, meant] of [
    ['/validatorss', '/validators'],
    ['/validator/12?network=hoodi', '/validators/12?network=hoodi'],
    ['/Explorer/1', '/explorer/1'],
    ['/validators/12/x', '/validators'],
    ['/overveiw', '/overview'],
    ['/foo', undefined],
    ['/tx/0x1', undefined],
  ] as const)
    assert.equal(findNearestPage(parseRoute(mistyped)), meant, mistyped)
})
