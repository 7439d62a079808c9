// Quotes from the rates they name, and rates from what their sources say.

import { readReceipt } from '#fx/endpoints/receipt.ts'
import { verifySources } from '#fx/rates/verify-sources.ts'
import { checkReceipt } from '#fx/receipts/check-receipt.ts'
import { compareEach, nothingToVerify, optionalNotes, sampleOf, type Verification } from './verification.ts'

interface QuoteRow {
  readonly id: string
  readonly reply: Uint8Array
}

export const quotePriceVerification: Verification = {
  name: 'quotes from the rates they name',
  todo: 'keep the quote and its receipt; the price was worked out wrongly or the row was changed',
  async run(context, count) {
    const from = (id: string, limit: number) =>
      context.state.all<QuoteRow>('select id, reply from fx_quotes where id >= ? order by id limit ?', ...[id, limit])
    const items = await sampleOf<QuoteRow>(count, {
      first: (limit) => from('', limit),
      any: async () => (await from(context.random.uuid(), 1))[0] ?? (await from('', 1))[0],
      keyOf: ({ id }) => id,
    })
    return compareEach(items, async ({ id, reply }) => {
      const checks = checkReceipt(await readReceipt(context.state, id), { reply })
      const wrong = checks.filter(({ ok }) => !ok)
      return wrong.length === 0 ? undefined : `quote ${id}: ${wrong.map(({ message }) => message).join('; ')}`
    })
  },
}

export const rateVerification: Verification = {
  name: 'rates from their sources',
  todo: 'compare with a third party; a source that changes a rate without its time cannot be relied on',
  async run(context) {
    const { fx, groups } = context.settings
    if (!groups.fx.on || fx.sources.every(({ kind }) => kind === 'push'))
      return nothingToVerify('no source can be asked')
    const { same, near, differing, far, silent } = await verifySources(context)
    const told = optionalNotes([`${same} the very same, ${near} newer and near`], silent)
    return { checked: same + near, differing, doubtful: far, ...told }
  },
}
