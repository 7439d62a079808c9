// Alters one answer of an execution node at a random place (test/altered-chain.ts). The long run uses all seeds; a failure
// prints its seed, the kind of the alteration and its place in the answer.
import { after, before, describe } from 'node:test'
import { chainWorlds, indexAlteredChain, isBelievedOfChain, searchAlteredChain } from './altered-chain.ts'
import { testAlteredSeeds } from './altered-seeds.ts'
import { openContext, type TestContext } from './context.ts'

const seeds = { count: 2000, perRun: 8, worlds: chainWorlds, isBelieved: isBelievedOfChain }

describe('one altered answer of an execution node', () => {
  let database: TestContext
  before(async () => {
    database = await openContext()
  })
  after(() => database[Symbol.asyncDispose]())

  testAlteredSeeds('an index is never wrong and ends with the truth', () => indexAlteredChain(database), seeds)
  testAlteredSeeds('a search is never wrong and ends with the truth', () => searchAlteredChain(database), seeds)
})
