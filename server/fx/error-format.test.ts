import assert from 'node:assert/strict'
import { test } from 'node:test'
import { fxErrorFormat } from '#api/contract/error-formats.ts'
import { type FaultCode, faults } from '#api/contract/faults.ts'
import { FxFailure } from '#api/contract/wire/fx.ts'
import { Fault } from '#core/fault.ts'
import { checker } from '#core/schema-check.ts'

const check = checker(FxFailure)
const codeOf = (code: FaultCode) => (fxErrorFormat.renderFault(new Fault(code)).body as FxFailure).code

test('each error has its documented code', () => {
  const table: Partial<Record<FaultCode, number>> = {
    'input.invalid': 2,
    'body.invalid_json': 2,
    'fx.amount_range': 3005,
    'fx.pair_unknown': 3008,
    'fx.rate_stale': 3010,
    'key.missing': 401,
    'key.invalid': 401,
    'key.group': 3,
    'plan.too_low': 3,
    'route.unknown': 404,
    'route.method': 405,
    'fx.idempotency': 409,
    'body.too_large': 413,
    'input.url_too_long': 414,
    'body.type': 415,
    'limit.second': 429,
    'limit.day': 429,
    'key.throttled': 429,
    'input.headers_too_large': 431,
    'store.unavailable': -1,
    'server.timeout': -1,
    'server.internal': -1,
  }
  for (const [code, number] of Object.entries(table)) assert.equal(codeOf(code as FaultCode), number, code)
})

test('every fault is rendered in the error format with its status', () => {
  for (const code of Object.keys(faults) as FaultCode[]) {
    const { status, body } = fxErrorFormat.renderFault(new Fault(code, { detail: 'for the log' }))
    assert.equal(status, faults[code].status)
    assert.deepEqual(check(body), [])
    assert.doesNotMatch(JSON.stringify(body), /for the log/)
  }
  assert.deepEqual(check(fxErrorFormat.renderNotFound().body), [])
})

test('invalid parameters are listed with location and value; other errors have no list', () => {
  const problems = [
    { at: ['body', 'from', 'amount'], message: 'must be greater than zero', value: '0' },
    { at: ['body', 'tenor'], message: 'is required' },
  ]
  assert.deepEqual(fxErrorFormat.renderFault(new Fault('input.invalid', { problems })).body, {
    code: 2,
    message: 'A parameter is missing or malformed.',
    errors: [
      {
        error: 'invalid',
        message: 'body.from.amount must be greater than zero',
        location: 'body.from.amount',
        invalidValue: '0',
      },
      { error: 'required', message: 'body.tenor is required', location: 'body.tenor' },
    ],
  })
  assert.equal('errors' in (fxErrorFormat.renderFault(new Fault('key.missing')).body as object), false)
})
