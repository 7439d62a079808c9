// Keys and plans, spec section 5. Without --bad-keys, the checks send fewer bad keys than it takes to get blocked.
import type { EndpointId } from '#api/contract/routes.ts'
import { type Checks, expect, expectFailure, type Members, Skipped } from '../check.ts'

const quote: Members = {
  from: { currency: 'USDC', amount: '10' },
  to: { currency: 'EURC' },
  tenor: 'instant',
  type: 'reference',
}

const callsWithKey: readonly [EndpointId, Members][] = [
  ['explorer.labelListV2', {}],
  ['explorer.labelListV1', {}],
  ['explorer.fundedBy', { address: `0x${'12'.repeat(20)}` }],
  ['fx.createQuote', quote],
  ['validators.aggregateEffectiveness', { indices: [0] }],
  ['validators.effectiveness', { validator_index_or_pubkey: 0 }],
  ['validators.metadata', { validator_index_or_pubkey: 0 }],
]

const unknownKey = `tetrad:conformance:${'u'.repeat(43)}`

export const keyChecks: Checks = {
  'http.key.missing': {
    rule: 'spec 5',
    requirement: 'every endpoint except markets requires a key',
    async run(server) {
      for (const [id, input] of callsWithKey)
        await server.expectFailure(id, input, 'key.missing', { key: null, once: true })
    },
  },
  'http.key.before-parameters': {
    rule: 'behaviour/http.md#order-of-checks',
    requirement: 'a missing key is reported before other errors',
    async run(server) {
      const invalidCalls: readonly [EndpointId, Members][] = [
        ['explorer.fundedBy', { address: 'nonsense', chainid: '999999999' }],
        ['fx.createQuote', { tenor: 'weekly' }],
        ['validators.aggregateEffectiveness', { size: 'many' }],
      ]
      for (const [id, input] of invalidCalls)
        await server.expectFailure(id, input, 'key.missing', { key: null, once: true })
    },
  },
  'http.key.unknown.explorer.fundedBy': {
    rule: 'spec 5',
    requirement: 'explorer.fundedBy refuses an unknown key',
    run: (server) =>
      server.expectFailure('explorer.fundedBy', { address: `0x${'12'.repeat(20)}` }, 'key.invalid', {
        key: unknownKey,
      }),
  },
  'http.key.unknown.validators.metadata': {
    rule: 'spec 5',
    requirement: 'validators.metadata refuses an unknown key',
    async run(server) {
      const input = { validator_index_or_pubkey: 0 }
      const response = await server.expectFailure('validators.metadata', input, 'key.invalid', { key: unknownKey })
      expect(response.headers.has('www-authenticate'), 'www-authenticate is missing')
    },
  },
  'http.key.incomplete.fx.createQuote': {
    rule: 'spec 5',
    requirement: 'fx.createQuote refuses an incomplete key',
    async run(server) {
      // A key has three parts: prefix, identifier, secret.
      const [prefix = '', name = '', secret = ''] = server.options.key.split(':')
      for (const key of [`${prefix}:${name}`, `${name}:${secret}`])
        await server.expectFailure('fx.createQuote', quote, 'key.invalid', { key })
    },
  },
  'http.key.plan': {
    rule: 'spec 5',
    requirement: 'label lists need the Enterprise tier, the funding lookup the Standard plan',
    async run(server) {
      const { lowKey } = server.options
      if (!lowKey) throw new Skipped('pass a key of a lower plan with --low-key')
      for (const [id, input] of callsWithKey.slice(0, 3))
        await server.expectFailure(id, input, 'plan.too_low', { key: lowKey })
    },
  },
  'http.key.throttle': {
    rule: 'behaviour/http.md#too-many-invalid-keys',
    requirement: 'after five invalid keys within 30 seconds, further ones are refused with 429; valid keys still work',
    onlyWith: 'badKeys',
    async run(server) {
      const call = (key: string) =>
        server.call('validators.metadata', { validator_index_or_pubkey: 0 }, { key, once: true })
      await call(server.options.key)
      const responses = []
      for (let count = 0; count < 7; count++) responses.push(await call(`tetrad:conformance${count}:${'g'.repeat(43)}`))
      const last = responses.at(-1)
      expect(last !== undefined && last.status === 429, `the seventh invalid key returns ${last?.status}`)
      expectFailure('validators.metadata', last, 'key.throttled')
      const good = await call(server.options.key)
      expect(good.status === 200 || good.status === 404, `a valid key returns ${good.status}`)
    },
  },
}
