// Alters one answer of a relay at a random place (test/altered-relays.ts).
import { after, before, describe } from 'node:test'
import { isBelievedOfRelays, openAlteredRelays, relayWorlds } from './altered-relays.ts'
import { testAlteredSeeds } from './altered-seeds.ts'

describe('one altered answer of a relay', () => {
  let relays: Awaited<ReturnType<typeof openAlteredRelays>>
  before(async () => {
    relays = await openAlteredRelays()
  })
  after(() => relays[Symbol.asyncDispose]())

  testAlteredSeeds('what is known about a payload is true', () => relays.run, {
    ...{ count: 2000, perRun: 8, worlds: relayWorlds },
    isBelieved: isBelievedOfRelays,
  })
})
