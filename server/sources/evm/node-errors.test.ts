import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { knownErrors } from '#test/simulator/known-errors.ts'
import { outcomesIn } from './batch-results.ts'
import { nodeErrorKind } from './node-errors.ts'

describe('known errors of clients have the right kind', () => {
  for (const [client, code, kind, text, origin] of knownErrors) {
    test(`${client} (${origin}): ${text}`, () => {
      assert.equal(nodeErrorKind(code, text), kind)
    })
  }
})

test('other errors have no kind', () => {
  for (const [code, text] of [
    [-32000, 'genesis is not traceable'],
    [-32603, 'Internal error'],
    [3, 'execution reverted'],
  ] as const)
    assert.equal(nodeErrorKind(code, text), undefined, text)
})

describe('a refused batch', () => {
  const calls = [{ method: 'a' }, { method: 'b' }, { method: 'c' }]
  const refusals = knownErrors.filter(([, , kind]) => kind === 'batch too large')
  for (const [client, code, , message] of refusals) {
    // geth and erigon put the error into a list, under the id of the first call; the others send one object.
    const error = { jsonrpc: '2.0', id: client === 'geth' || client === 'erigon' ? 1 : null, error: { code, message } }
    for (const response of [error, [error]]) {
      test(`${client}, as ${Array.isArray(response) ? 'a list' : 'an object'}: ${message}`, () => {
        assert.equal(outcomesIn(JSON.stringify(response), 1, calls), 'batch refused')
      })
    }
  }

  test('an error of one call is not a refused batch', () => {
    const error = { code: -32000, message: 'header not found' }
    const response = [
      { id: 1, error },
      { id: 2, result: 'x' },
      { id: 3, result: 'y' },
    ]
    assert.ok(Array.isArray(outcomesIn(JSON.stringify(response), 1, calls)))
  })
})
