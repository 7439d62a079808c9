// Keys and plans, spec section 5. The bad keys shown here stay below the number that closes an address.
import type { FaultCode } from '#api/faults.ts'
import type { EndpointId } from '#api/routes.ts'
import { type Check, expect, type Members, refusal, Skipped } from '../check.ts'

const quote: Members = {
  from: { currency: 'USDC', amount: '10' },
  to: { currency: 'EURC' },
  tenor: 'instant',
  type: 'reference',
}

const keyed: readonly [EndpointId, Members][] = [
  ['explorer.labelListV2', {}],
  ['explorer.labelListV1', {}],
  ['explorer.fundedBy', { address: `0x${'12'.repeat(20)}` }],
  ['fx.createQuote', quote],
  ['validators.aggregateEffectiveness', { indices: [0] }],
  ['validators.effectiveness', { validator_index_or_pubkey: 0 }],
  ['validators.metadata', { validator_index_or_pubkey: 0 }],
]

const unknownKey = `tetrad:conform:${'u'.repeat(43)}`

const badKeyCheck = (id: EndpointId, input: Members, key: string, requirement: string): Check => ({
  id: `house.key.${requirement.split(' ')[1]}.${id}`,
  rule: 'spec 5',
  requirement: `${id} refuses ${requirement} key`,
  async run(site) {
    const answered = await site.call(id, input, { key })
    refusal(id, answered, 'key.invalid')
    if (id.startsWith('explorer.')) return
    expect(answered.headers.has('www-authenticate'), 'www-authenticate is missing')
  },
})

export const keyChecks: readonly Check[] = [
  {
    id: 'house.key.missing',
    rule: 'spec 5',
    requirement: 'every endpoint but the markets asks for a key',
    async run(site) {
      for (const [id, input] of keyed) refusal(id, await site.call(id, input, { key: null, once: true }), 'key.missing')
    },
  },
  {
    id: 'house.key.before-parameters',
    rule: 'behaviour/http.md#order-of-checks',
    requirement: 'a caller without a key is not told what else is wrong',
    async run(site) {
      const wrong: readonly [EndpointId, Members][] = [
        ['explorer.fundedBy', { address: 'nonsense', chainid: '999999999' }],
        ['fx.createQuote', { tenor: 'weekly' }],
        ['validators.aggregateEffectiveness', { size: 'many' }],
      ]
      for (const [id, input] of wrong) refusal(id, await site.call(id, input, { key: null, once: true }), 'key.missing')
    },
  },
  badKeyCheck('explorer.fundedBy', { address: `0x${'12'.repeat(20)}` }, unknownKey, 'an unknown'),
  badKeyCheck('validators.metadata', { validator_index_or_pubkey: 0 }, unknownKey, 'an unknown'),
  {
    ...badKeyCheck('fx.createQuote', quote, '', 'an incomplete'),
    async run(site) {
      // All three parts of a good key are needed: prefix, identifier, secret.
      const [prefix = '', name = '', secret = ''] = site.options.key.split(':')
      for (const key of [`${prefix}:${name}`, `${name}:${secret}`])
        refusal('fx.createQuote', await site.call('fx.createQuote', quote, { key }), 'key.invalid')
    },
  },
  {
    id: 'house.key.plan',
    rule: 'spec 5',
    requirement: 'label lists need the Enterprise tier, the funding lookup the Standard plan',
    async run(site) {
      const { lowKey } = site.options
      if (!lowKey) throw new Skipped('give a key of a lower plan with --low-key')
      const needing: readonly [EndpointId, Members][] = keyed.slice(0, 3)
      const code: FaultCode = 'plan.too_low'
      for (const [id, input] of needing) refusal(id, await site.call(id, input, { key: lowKey }), code)
    },
  },
  {
    id: 'house.key.guard',
    rule: 'behaviour/http.md#too-many-invalid-keys',
    requirement:
      'after five bad keys within 30 seconds further ones are refused unseen, while a key that has worked still works',
    onlyWith: 'guard',
    async run(site) {
      const ask = (key: string) =>
        site.call('validators.metadata', { validator_index_or_pubkey: 0 }, { key, once: true })
      await ask(site.options.key)
      const answers = []
      for (let count = 0; count < 7; count++) answers.push(await ask(`tetrad:conform${count}:${'g'.repeat(43)}`))
      const last = answers.at(-1)
      expect(last !== undefined && last.status === 429, `the seventh bad key gives ${last?.status}`)
      refusal('validators.metadata', last, 'key.guarded')
      const good = await ask(site.options.key)
      expect(good.status === 200 || good.status === 404, `a key that has worked gives ${good.status}`)
    },
  },
]
