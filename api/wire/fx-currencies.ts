// Group B beyond the specification: what can be asked for at all, so that nobody has to guess a currency's code.
import { Address, endpoint, oneOf, Text, Type, Whole } from '../kit.ts'
import { extensionRoutes } from '../routes.ts'

export const currencies = endpoint({
  ...extensionRoutes['fx.currencies'],
  id: 'fx.currencies',
  summary: 'The currencies quotes are made in.',
  notes:
    'A pair of two that track different currencies is offered unless the configuration says otherwise; one of two that track the same only if it says so. fx.createQuote tells.',
  input: Type.Object({}),
  reply: Type.Object({
    chainId: { ...Whole, description: 'Chain the typed data is for.' },
    tenors: Type.Array(oneOf(['instant', 'hourly', 'daily']), { description: 'Settlement schedules, quickest first.' }),
    currencies: Type.Array(
      Type.Object({
        currency: { ...Text, description: 'Code, as quotes spell it.' },
        tracks: { ...Text, description: 'Reference currency it follows.' },
        decimals: { ...Whole, description: 'Decimals of the token.' },
        contract: { ...Address, description: 'The token on that chain.' },
      }),
    ),
  }),
  faults: [],
  example: {
    input: {},
    reply: {
      chainId: 1,
      tenors: ['instant', 'hourly', 'daily'],
      currencies: [
        { currency: 'USDC', tracks: 'USD', decimals: 6, contract: '0xA0b86991c6218b36c1d19D4a2e9Eb0cE3606eB48' },
        { currency: 'EURC', tracks: 'EUR', decimals: 6, contract: '0x1aBaEA1f7C830bD89Acc67eC4af516284b1bC33c' },
      ],
    },
  },
})
