// Beyond the specification: the currencies of the configuration, for forms that offer a choice.
import { extensions } from '#api/extensions.ts'
import { answer } from '#serve/answer.ts'
import { shape } from './shape.ts'
import { tenors } from './terms.ts'

export const currencies = answer(extensions['fx.currencies'], shape, async (_, { settings: { fx } }) => ({
  is: 'body',
  body: {
    chainId: fx.chainId,
    tenors: [...tenors],
    currencies: fx.tokens.map(({ code, ...token }) => ({ currency: code, ...token })),
  },
}))
