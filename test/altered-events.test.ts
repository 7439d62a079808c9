// Alters one part of the event stream of a beacon node (test/altered-events.ts).
import { after, before, describe } from 'node:test'
import { eventWorlds, openAlteredEvents } from './altered-events.ts'
import { testAlteredSeeds } from './altered-seeds.ts'

describe('one altered part of an event stream', () => {
  let events: Awaited<ReturnType<typeof openAlteredEvents>>
  before(async () => {
    events = await openAlteredEvents()
  })
  after(() => events[Symbol.asyncDispose]())

  testAlteredSeeds('the listener continues and receives all later events', () => events.run, {
    ...{ count: 2000, perRun: 8, worlds: eventWorlds },
    isBelieved: () => false,
  })
})
