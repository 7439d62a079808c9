import assert from 'node:assert/strict'
import { test } from 'node:test'
import { contract } from '#api/contract.ts'
import { type FailureContext, toGroupError } from '#api/errors.ts'
import { failureExample } from '#api/failures.ts'
import type { FaultCode } from '#api/faults.ts'
import { adviceOf, formatFailure } from './failures.ts'

const endpoints = ['explorer.fundedBy', 'fx.createQuote', 'validators.metadata', 'markets.bySlug'] as const

/** As a page gets it from the client. */
function errorOf(id: (typeof endpoints)[number], code: FaultCode): unknown {
  const endpoint = contract[id]
  const { status, body } = failureExample(endpoint, code)
  const at: FailureContext = {
    endpoint: id,
    group: endpoint.group,
    status,
    requestId: undefined,
    retryAfterMs: undefined,
  }
  return toGroupError(at, body)
}

for (const id of endpoints) {
  test(`${id}: no key yet is one plain sentence, and not that of a key that is refused`, () => {
    const [missing, refused] = [errorOf(id, 'key.missing'), errorOf(id, 'key.invalid')]
    assert.equal(formatFailure(missing), 'This needs a key, and none is set yet.')
    assert.match(formatFailure(refused), /^The key of these pages is not accepted/)
    for (const error of [missing, refused]) assert.match(adviceOf(error), /^Set a key/)
  })
}
