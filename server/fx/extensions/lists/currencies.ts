// Extension: lists the configured currencies and tenors, so that a form can offer them.
import { extensions } from '#api/contract/extensions.ts'
import { createHandler } from '#http/handler.ts'
import { tenors } from '#runtime/settings/fx-rules.ts'

export const currencies = createHandler(extensions['fx.currencies'], async (_, { settings: { fx } }) => ({
  is: 'body',
  body: {
    chainId: fx.chainId,
    tenors: [...tenors],
    currencies: fx.tokens.map(({ code, ...token }) => ({ currency: code, ...token })),
  },
}))
