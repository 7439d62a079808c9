import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { explorerErrorFormat } from '#api/contract/error-formats.ts'
import { type FaultCode, faults } from '#api/contract/faults.ts'
import { ExplorerFailure } from '#api/contract/wire/explorer.ts'
import { Fault, type FaultOptions, invalid } from '#core/fault.ts'
import { checker } from '#core/schema-check.ts'

const bodyFor = (code: FaultCode, options?: FaultOptions) =>
  explorerErrorFormat.renderFault(new Fault(code, options)).body

describe('200', () => {
  const texts: readonly [Fault, string][] = [
    [new Fault('key.missing'), 'Missing/Invalid API Key'],
    [new Fault('key.invalid'), 'Invalid API Key'],
    [new Fault('key.throttled'), 'Too many invalid api key attempts, please try again later'],
    [new Fault('limit.second', { textValues: { limit: 2 } }), 'Max calls per sec rate limit reached (2/sec)'],
    [new Fault('limit.second', { textValues: { limit: 30 } }), 'Max calls per sec rate limit reached (30/sec)'],
    [new Fault('limit.day'), 'Max daily rate limit reached'],
    [new Fault('explorer.module'), 'Error! Missing Or invalid Module name'],
    [new Fault('explorer.action'), 'Error! Missing Or invalid Action name'],
    [invalid(['query', 'address'], 'is required'), 'Error! Invalid address format'],
    [new Fault('explorer.chain_unsupported'), 'Missing or unsupported chainid parameter'],
    [invalid(['query', 'format'], 'must be one of csv, json'), 'Error! format must be one of csv, json'],
  ]
  for (const [fault, text] of texts) {
    test(`200: ${fault.code} is "${text}"`, () =>
      assert.deepEqual(explorerErrorFormat.renderFault(fault), {
        status: 200,
        body: { status: '0', message: 'NOTOK', result: text },
      }))
  }

  test('200: a plan error names the required plan', () =>
    assert.match(
      JSON.stringify(bodyFor('plan.too_low', { textValues: { plan: 'enterprise' } })),
      /the enterprise plan/,
    ))

  test('200: nothing found is an empty list with its own message', () => {
    const nothing = { status: 200, body: { status: '0', message: 'No data found', result: [] } }
    assert.deepEqual(explorerErrorFormat.renderNotFound(), nothing)
    assert.deepEqual(explorerErrorFormat.renderFault(new Fault('record.not_found')), nothing)
  })

  test('200: every fault is rendered as the contract defines failures', () => {
    const check = checker(ExplorerFailure)
    for (const code of Object.keys(faults) as FaultCode[]) assert.deepEqual(check(bodyFor(code)), [], code)
  })
})

describe('403, 404, 405', () => {
  test('an error that reached no endpoint keeps its status', () => {
    const status = (code: FaultCode) => explorerErrorFormat.renderFault(new Fault(code)).status
    assert.deepEqual(
      (['explorer.link', 'route.unknown', 'route.disabled', 'route.method', 'server.internal'] as const).map(status),
      [403, 404, 404, 405, 200],
    )
  })
})
