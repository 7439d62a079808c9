// Verifies quotes against the rates they were priced with, and rates against their sources.

import { checkReceipt } from '#fx/extensions/receipts/check-receipt.ts'
import { readReceipt } from '#fx/extensions/receipts/receipt.ts'
import { findTradeMistakes } from '#fx/extensions/trades/find-trade-mistakes.ts'
import { verifySources } from '#fx/rates/verify-sources.ts'
import { compareEach, nothingToVerify, optionalNotes, sampleOf, type Verification } from './verification.ts'

export const quotePriceVerification: Verification = {
  name: 'quotes against their rates',
  todo: 'keep the quote and its receipt: the price was computed wrongly, or the row was changed',
  async run(context, count) {
    const from = (id: string, limit: number) =>
      context.state.all<{ id: string; reply: Uint8Array }>(
        'select id, reply from fx_quotes where id >= ? order by id limit ?',
        ...[id, limit],
      )
    const items = await sampleOf(count, {
      takeFirst: (limit) => from('', limit),
      drawOne: async () => (await from(context.random.uuid(), 1))[0] ?? (await from('', 1))[0],
      keyOf: ({ id }) => id,
    })
    return compareEach(items, async ({ id, reply }) => {
      const checks = checkReceipt(await readReceipt(context.state, id), { reply })
      const failed = checks.filter(({ ok }) => !ok)
      return failed.length === 0 ? undefined : `quote ${id}: ${failed.map(({ message }) => message).join('; ')}`
    })
  },
}

export const tradeVerification: Verification = {
  name: 'trades against their quotes',
  todo: 'keep the trade and its quote, and do not settle it: the row was changed',
  async run(context, count) {
    const from = (id: string, limit: number) =>
      context.state.all<{ id: string }>('select id from fx_trades where id >= ? order by id limit ?', ...[id, limit])
    const items = await sampleOf(count, {
      takeFirst: (limit) => from('', limit),
      drawOne: async () => (await from(context.random.uuid(), 1))[0] ?? (await from('', 1))[0],
      keyOf: ({ id }) => id,
    })
    return compareEach(items, async ({ id }) => {
      const mistakes = await findTradeMistakes(context.state, id)
      return mistakes.length === 0 ? undefined : `trade ${id}: ${mistakes.join('; ')}`
    })
  },
}

export const rateVerification: Verification = {
  name: 'rates against their sources',
  todo: 'compare with a third source; a source that changes a rate without changing its time is not reliable',
  async run(context) {
    const { fx, groups } = context.settings
    if (!groups.fx.enabled || fx.sources.every(({ kind }) => kind === 'push'))
      return nothingToVerify('no source can be polled')
    const { same, close, differing, far, silent } = await verifySources(context)
    const notes = optionalNotes([`${same} identical, ${close} newer and close`], silent)
    return { checked: same + close, differing, doubtful: far, ...notes }
  },
}
