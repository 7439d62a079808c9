import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { type FaultCode, faults } from '#api/faults.ts'
import { ExplorerFailure } from '#api/wire/explorer.ts'
import { checker } from '#core/check.ts'
import { Fault, type FaultOptions, invalid } from '#core/fault.ts'
import { shape } from './shape.ts'

const said = (code: FaultCode, options?: FaultOptions) => shape.fault(new Fault(code, options)).body

describe('200', () => {
  const texts: readonly [Fault, string][] = [
    [new Fault('key.missing'), 'Missing/Invalid API Key'],
    [new Fault('key.invalid'), 'Invalid API Key'],
    [new Fault('key.guarded'), 'Too many invalid api key attempts, please try again later'],
    [new Fault('limit.second', { terms: { limit: 2 } }), 'Max calls per sec rate limit reached (2/sec)'],
    [new Fault('limit.second', { terms: { limit: 30 } }), 'Max calls per sec rate limit reached (30/sec)'],
    [new Fault('limit.day'), 'Max daily rate limit reached'],
    [new Fault('explorer.module'), 'Error! Missing Or invalid Module name'],
    [new Fault('explorer.action'), 'Error! Missing Or invalid Action name'],
    [invalid(['query', 'address'], 'is required'), 'Error! Invalid address format'],
    [new Fault('explorer.chain_unsupported'), 'Missing or unsupported chainid parameter'],
    [invalid(['query', 'format'], 'must be one of csv, json'), 'Error! format must be one of csv, json'],
  ]
  for (const [fault, text] of texts) {
    test(`200: ${fault.code} says "${text}"`, () =>
      assert.deepEqual(shape.fault(fault), { status: 200, body: { status: '0', message: 'NOTOK', result: text } }))
  }

  test('200: a plan refusal names the plan that is needed', () =>
    assert.match(JSON.stringify(said('plan.too_low', { terms: { plan: 'enterprise' } })), /the enterprise plan/))

  test('200: nothing found is an empty list under its own message', () => {
    const nothing = { status: 200, body: { status: '0', message: 'No data found', result: [] } }
    assert.deepEqual(shape.nothing(), nothing)
    assert.deepEqual(shape.fault(new Fault('record.unknown')), nothing)
  })

  test('200: every fault has the form the contract gives failures', () => {
    const check = checker(ExplorerFailure)
    for (const code of Object.keys(faults) as FaultCode[]) assert.deepEqual(check(said(code)), [], code)
  })
})

describe('403, 404, 405', () => {
  test('a request that reached no endpoint keeps its own status, decision 0016', () => {
    const status = (code: FaultCode) => shape.fault(new Fault(code)).status
    assert.deepEqual(
      (['explorer.link', 'route.unknown', 'route.off', 'route.method', 'server.internal'] as const).map(status),
      [403, 404, 404, 405, 200],
    )
  })
})
