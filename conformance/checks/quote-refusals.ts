// Invalid quote requests, spec 4.4.
import type { FaultCode } from '#api/contract/faults.ts'
import { type Checks, expect, type Members, membersOf, toList } from '../check.ts'
import { pairOf } from '../samples.ts'
import type { ServerUnderTest } from '../server-under-test.ts'
import { quoteInput, recipientAddress } from './quotes.ts'

const id = 'fx.createQuote'

/** Expects this code. Validation errors also name the parameter. */
async function expectRefused(
  server: ServerUnderTest,
  changes: Members,
  code: FaultCode,
  expectedLocation?: string,
): Promise<void> {
  const response = await server.expectFailure(id, quoteInput(server, changes), code)
  if (expectedLocation === undefined) return
  const errors = toList(membersOf(response.body, 'the failure').errors, 'errors')
  expect(
    errors.some(({ location }) => String(location).includes(expectedLocation)),
    `no entry of errors is about ${expectedLocation}`,
  )
}

export const quoteRefusalChecks: Checks = {
  'fx.refusal.enums': {
    rule: 'spec 4.4',
    requirement: 'tenor and type accept only listed values',
    async run(server) {
      await expectRefused(server, { tenor: 'weekly' }, 'input.invalid', 'tenor')
      await expectRefused(server, { tenor: undefined }, 'input.invalid', 'tenor')
      await expectRefused(server, { type: 'firm' }, 'input.invalid', 'type')
    },
  },
  'fx.refusal.recipient': {
    rule: 'spec 4.4',
    requirement: 'a tradable quote needs a recipient address',
    async run(server) {
      await expectRefused(server, { type: 'tradable' }, 'input.invalid', 'recipientAddress')
      await expectRefused(server, { type: 'tradable', recipientAddress: 'me' }, 'input.invalid', 'recipientAddress')
    },
  },
  'fx.refusal.required': {
    rule: 'spec 4.4',
    requirement: 'from and to are required',
    async run(server) {
      await expectRefused(server, { from: undefined }, 'input.invalid', 'from')
      await expectRefused(server, { to: undefined }, 'input.invalid', 'to')
    },
  },
  'fx.refusal.one-amount': {
    rule: 'behaviour/fx.md#request-checks',
    requirement: 'exactly one amount is required: a decimal above zero with at most six places',
    async run(server) {
      const { from, to } = pairOf(server)
      const both = { from: { currency: from, amount: '1' }, to: { currency: to, amount: '1' } }
      const neither = { from: { currency: from }, to: { currency: to } }
      for (const changes of [both, neither]) await expectRefused(server, changes, 'input.invalid')
      for (const amount of ['0', '-1', '1.0000001', '1e3', '', 'ten', '.5'])
        await expectRefused(server, { from: { currency: from, amount } }, 'input.invalid')
    },
  },
  'fx.refusal.currency': {
    rule: 'behaviour/fx.md#error-codes',
    requirement: 'an unsupported currency has its own error code',
    run: (server) => expectRefused(server, { to: { currency: 'NOSUCH' } }, 'fx.pair_unknown'),
  },
  'fx.refusal.range': {
    rule: 'behaviour/fx.md#amount-range',
    requirement: 'an amount outside the range has its own error code',
    async run(server) {
      const { from } = pairOf(server)
      await expectRefused(server, { from: { currency: from, amount: `9${'0'.repeat(30)}` } }, 'fx.amount_range')
    },
  },
  'fx.refusal.body': {
    rule: 'behaviour/fx.md#error-codes',
    requirement: 'a body that is not JSON, or has another content-type, is refused in the error format of the group',
    async run(server) {
      const input = quoteInput(server, { recipientAddress })
      await server.expectFailure(id, input, 'body.invalid_json', { body: '{"from":' })
      await server.expectFailure(id, input, 'body.type', { headers: { 'content-type': 'text/plain' } })
      await server.expectFailure(id, input, 'input.invalid', { body: '[]' })
    },
  },
}
