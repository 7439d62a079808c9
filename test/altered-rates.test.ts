// Alters one answer of a rate source at a random place (test/altered-rates.ts).
import { after, before, describe } from 'node:test'
import { openAlteredRates, rateWorlds } from './altered-rates.ts'
import { testAlteredSeeds } from './altered-seeds.ts'
import { openContext, type TestContext } from './context.ts'

describe('one altered answer of a rate source', () => {
  let database: TestContext
  let rates: Awaited<ReturnType<typeof openAlteredRates>>
  before(async () => {
    database = await openContext()
    rates = await openAlteredRates(database)
  })
  after(async () => {
    await rates[Symbol.asyncDispose]()
    await database[Symbol.asyncDispose]()
  })

  testAlteredSeeds('a price stays between true rates, and the latest rates end with the truth', () => rates.run, {
    ...{ count: 2000, perRun: 8, worlds: rateWorlds, kept: [498, 1523] },
    isBelieved: () => false,
  })
})
