// Trades: extensions of group B. A server without them is not checked. No quote is accepted, because the operator would
// have to settle it.
import { type Checks, expect, expectSame, toList } from '../check.ts'
import { expectSamePages } from '../expect-same-pages.ts'
import type { ServerUnderTest } from '../server-under-test.ts'
import { createQuote, recipientAddress } from './quotes.ts'

const unknownId = '00000000-0000-4000-8000-000000000000'
/** Of nobody, in a valid form. */
const signature = `0x${'5c'.repeat(64)}1b`
const address = '0x5555555555555555555555555555555555555555'

/** Skips the check if the server has no trades. */
const requireTrades = (server: ServerUnderTest) => server.fetchExtension('fx.trades', { limit: 1 })

export const fxTradeChecks: Checks = {
  'fx.trade.signature': {
    rule: 'behaviour/fx.md#trades',
    requirement: 'a signature that is not of the address is refused, and the quote is not accepted',
    async run(server) {
      await requireTrades(server)
      const { id } = await createQuote(server, { type: 'tradable', recipientAddress })
      await server.expectFailure('fx.createTrade', { quoteId: id, address, signature }, 'fx.signature_invalid')
      await server.expectFailure('fx.trade', { id }, 'record.not_found')
    },
  },
  'fx.trade.refusals': {
    rule: 'behaviour/fx.md#trades',
    requirement: 'a reference quote cannot be accepted; an unknown quote or trade returns 404',
    async run(server) {
      await requireTrades(server)
      const { id } = await createQuote(server)
      await server.expectFailure('fx.createTrade', { quoteId: id, address, signature }, 'input.invalid')
      await server.expectFailure('fx.createTrade', { quoteId: unknownId, address, signature }, 'record.not_found')
      await server.expectFailure('fx.trade', { id: unknownId }, 'record.not_found')
    },
  },
  'fx.trade.list': {
    rule: 'behaviour/fx.md#trades',
    requirement: 'trades are listed newest first, continue with the cursor, and are found by id and status',
    async run(server) {
      const listed = await expectSamePages(server, { id: 'fx.trades', size: 'limit', count: 2 })
      const times = listed.map(({ createDate }) => Date.parse(String(createDate)))
      expectSame(
        times,
        times.toSorted((one, other) => other - one),
        'the newest trade is not the first',
      )
      for (const { id, status } of listed) {
        expect((await server.fetchReply('fx.trade', { id })).id === id, 'a listed trade is not found by its id')
        const page = toList((await server.fetchReply('fx.trades', { status, limit: 100 })).trades, 'trades')
        expect(
          page.every((trade) => trade.status === status),
          `the list of ${status} has trades with other states`,
        )
      }
    },
  },
}
