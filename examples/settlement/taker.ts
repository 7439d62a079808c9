// A taker for docs/fx.md: requests a quote, signs it with the second account of Hardhat, and accepts it. Prints the id of
// the trade.
//   TETRAD_KEY=… node taker.ts [http://127.0.0.1:8080]
import { createClient } from '@tetrad/api'
import { mnemonicToAccount } from 'viem/accounts'

const [, , baseUrl = 'http://127.0.0.1:8080'] = process.argv
const taker = mnemonicToAccount('test test test test test test test test test test test junk', { addressIndex: 1 })
const client = createClient({ baseUrl, key: process.env.TETRAD_KEY ?? '' })

const quote = await client.fx.createQuote({
  from: { currency: 'USDC', amount: '1000' },
  to: { currency: 'EURC' },
  tenor: 'instant',
  recipientAddress: taker.address,
})
const signature = await client.fx.signQuote(quote, taker)
const trade = await client.fx.createTrade({ quoteId: quote.id, address: taker.address, signature })
process.stdout.write(`${trade.id}\n`)
