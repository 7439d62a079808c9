// Alters one answer of a market feed at a random place (test/altered-markets.ts).
import { after, before, describe } from 'node:test'
import { isBelievedOfMarkets, marketWorlds, openAlteredMarkets } from './altered-markets.ts'
import { testAlteredSeeds } from './altered-seeds.ts'

describe('one altered answer of a market feed', () => {
  let markets: Awaited<ReturnType<typeof openAlteredMarkets>>
  before(async () => {
    markets = await openAlteredMarkets()
  })
  after(() => markets[Symbol.asyncDispose]())

  testAlteredSeeds('no listed market is missing, and the responses end with the truth', () => markets.run, {
    ...{ count: 2000, perRun: 6, worlds: marketWorlds, kept: [1428] },
    isBelieved: isBelievedOfMarkets,
  })
})
