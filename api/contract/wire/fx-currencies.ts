// Endpoint of group B beyond the specification: the list of offered currencies.
import { Address, endpoint, oneOf, recordList, Text, Type, Whole } from '../kit.ts'

export const currencies = endpoint('fx.currencies', {
  summary: 'The currencies that quotes are offered in.',
  notes:
    'By default, pairs of tokens that track different currencies are offered, and pairs that track the same currency are not. The configuration can change both.',
  input: Type.Object({}),
  reply: Type.Object({
    chainId: { ...Whole, description: 'Chain the typed data is for.' },
    tenors: Type.Array(oneOf(['instant', 'hourly', 'daily']), { description: 'Settlement schedules, fastest first.' }),
    currencies: recordList('In the order of the configuration.', {
      currency: { ...Text, description: 'Currency code.' },
      tracks: { ...Text, description: 'The reference currency of the token.' },
      decimals: { ...Whole, description: 'Decimals of the token.' },
      contract: { ...Address, description: 'The token contract on that chain.' },
    }),
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
