// What a quote cannot be made from, spec 4.4 and what it leaves open.
import type { FaultCode } from '#api/faults.ts'
import { type Check, expect, type Members, membersOf, refusal, toList } from '../check.ts'
import { pairOf } from '../samples.ts'
import type { ServerUnderTest } from '../server-under-test.ts'
import { quoteInput, recipientAddress } from './quotes.ts'

const id = 'fx.createQuote'

/** Refused with this code; parameter problems name their places. */
async function refused(
  site: ServerUnderTest,
  changes: Members,
  code: FaultCode,
  expectedLocation?: string,
): Promise<void> {
  const answered = await site.call(id, quoteInput(site, changes))
  refusal(id, answered, code)
  if (expectedLocation === undefined) return
  const errors = toList(membersOf(answered.body, 'the failure').errors, 'errors')
  expect(
    errors.some(({ location }) => String(location).includes(expectedLocation)),
    `no entry of errors is about ${expectedLocation}`,
  )
}

export const quoteRefusalChecks: readonly Check[] = [
  {
    id: 'fx.refusal.enums',
    rule: 'spec 4.4',
    requirement: 'tenor and type are from their lists',
    async run(site) {
      await refused(site, { tenor: 'weekly' }, 'input.invalid', 'tenor')
      await refused(site, { tenor: undefined }, 'input.invalid', 'tenor')
      await refused(site, { type: 'firm' }, 'input.invalid', 'type')
    },
  },
  {
    id: 'fx.refusal.recipient',
    rule: 'spec 4.4',
    requirement: 'a tradable quote needs a recipient address',
    async run(site) {
      await refused(site, { type: 'tradable' }, 'input.invalid', 'recipientAddress')
      await refused(site, { type: 'tradable', recipientAddress: 'me' }, 'input.invalid', 'recipientAddress')
    },
  },
  {
    id: 'fx.refusal.required',
    rule: 'spec 4.4',
    requirement: 'from and to are required',
    async run(site) {
      await refused(site, { from: undefined }, 'input.invalid', 'from')
      await refused(site, { to: undefined }, 'input.invalid', 'to')
    },
  },
  {
    id: 'fx.refusal.one-amount',
    rule: 'behaviour/fx.md#request-checks',
    requirement: 'exactly one amount is given, a decimal above zero with at most six places',
    async run(site) {
      const { from, to } = pairOf(site)
      const both = { from: { currency: from, amount: '1' }, to: { currency: to, amount: '1' } }
      const neither = { from: { currency: from }, to: { currency: to } }
      for (const changes of [both, neither]) await refused(site, changes, 'input.invalid')
      for (const amount of ['0', '-1', '1.0000001', '1e3', '', 'ten', '.5'])
        await refused(site, { from: { currency: from, amount } }, 'input.invalid')
    },
  },
  {
    id: 'fx.refusal.currency',
    rule: 'behaviour/fx.md#error-codes',
    requirement: 'a currency that is not offered has its own code',
    async run(site) {
      await refused(site, { to: { currency: 'NOSUCH' } }, 'fx.pair_unknown')
    },
  },
  {
    id: 'fx.refusal.range',
    rule: 'behaviour/fx.md#amount-range',
    requirement: 'an amount outside the range has its own code',
    async run(site) {
      const { from } = pairOf(site)
      await refused(site, { from: { currency: from, amount: `9${'0'.repeat(30)}` } }, 'fx.amount_range')
    },
  },
  {
    id: 'fx.refusal.body',
    rule: 'behaviour/fx.md#error-codes',
    requirement: 'a body that is not JSON, or is not said to be, is refused in the group’s shape',
    async run(site) {
      const input = quoteInput(site, { recipientAddress })
      refusal(id, await site.call(id, input, { body: '{"from":' }), 'body.unreadable')
      refusal(id, await site.call(id, input, { headers: { 'content-type': 'text/plain' } }), 'body.type')
      refusal(id, await site.call(id, input, { body: '[]' }), 'input.invalid')
    },
  },
]
