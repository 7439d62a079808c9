// Alters one answer of a beacon node at a random place (test/altered-beacon.ts).
import { after, before, describe } from 'node:test'
import { beaconWorlds, openAlteredBeacon } from './altered-beacon.ts'
import { testAlteredSeeds } from './altered-seeds.ts'
import { openContext, type TestContext } from './context.ts'

/** A beacon node that alters answers, for all tests of a suite. */
function alteredBeacon(chain?: Parameters<typeof openAlteredBeacon>[1]) {
  let database: TestContext
  let beacon: Awaited<ReturnType<typeof openAlteredBeacon>>
  before(async () => {
    database = await openContext()
    beacon = await openAlteredBeacon(database, chain)
  })
  after(async () => {
    await beacon[Symbol.asyncDispose]()
    await database[Symbol.asyncDispose]()
  })
  return () => beacon.run
}

const anyAnswer = { count: 2000, perRun: 1, worlds: beaconWorlds, isBelieved: () => false }

describe('one altered answer of a beacon node', () => {
  const run = alteredBeacon()
  testAlteredSeeds('nothing wrong is stored, and what is stored ends with the truth', run, anyAnswer)
  // One node in eight has no SSZ, so that nothing is altered.
  testAlteredSeeds('nothing wrong in SSZ is stored, and what is stored ends with the truth', run, {
    ...{ count: 2300, perRun: 1, worlds: beaconWorlds, kept: [1306, 2152] },
    isBelieved: () => false,
    isChosen: ({ type }) => type === 'application/octet-stream',
  })
})

describe('one altered answer while the network crosses the fork to Gloas', () => {
  const run = alteredBeacon('gloas')
  testAlteredSeeds('nothing wrong is stored, and what is stored ends with the truth', run, anyAnswer)
})
