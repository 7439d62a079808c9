// The error format of group C.
import { strict as assert } from 'node:assert'
import { test } from 'node:test'
import { validatorsErrorFormat } from '#api/contract/error-formats.ts'
import { type FaultCode, faults } from '#api/contract/faults.ts'
import { ValidatorsFailure } from '#api/contract/wire/validators.ts'
import { Fault } from '#core/fault.ts'
import { checker } from '#core/schema-check.ts'

test('each error has its status and the text that clients match on', () => {
  const cases: [FaultCode, number, string][] = [
    ['key.missing', 401, 'Not authenticated'],
    ['key.invalid', 401, 'Could not validate access token.'],
    ['key.group', 403, 'This API key may not use this interface.'],
    ['record.not_found', 404, 'Not found.'],
    ['limit.second', 429, 'Too many requests'],
    ['limit.day', 429, 'Too many requests'],
    ['key.throttled', 429, 'Too many requests'],
    ['server.internal', 500, 'Internal server error.'],
  ]
  for (const [code, status, detail] of cases) {
    assert.deepEqual(validatorsErrorFormat.renderFault(new Fault(code)), { status, body: { detail } }, code)
  }
  assert.deepEqual(validatorsErrorFormat.renderNotFound(), { status: 404, body: { detail: 'Not found.' } })
})

test('400: every invalid parameter is listed with its location', () => {
  const problems = [
    { at: ['query', 'size'], message: 'must be at most 1000', value: 5000 },
    { at: ['header', 'x-validator-network'], message: 'must be one of mainnet, hoodi, holesky' },
  ]
  assert.deepEqual(validatorsErrorFormat.renderFault(new Fault('input.invalid', { problems })), {
    status: 400,
    body: {
      detail: [
        { loc: ['query', 'size'], msg: 'must be at most 1000', type: 'value_error' },
        { loc: ['header', 'x-validator-network'], msg: 'must be one of mainnet, hoodi, holesky', type: 'value_error' },
      ],
    },
  })
})

test('every fault is rendered in the format of the contract', () => {
  const check = checker(ValidatorsFailure)
  for (const code of Object.keys(faults) as FaultCode[])
    assert.deepEqual(check(validatorsErrorFormat.renderFault(new Fault(code)).body), [], code)
})
