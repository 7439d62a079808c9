// Alters one answer of the execution node of a network at a random place (test/altered-execution.ts).
import { after, before, describe } from 'node:test'
import { executionWorlds, isBelievedOfExecution, openAlteredExecution } from './altered-execution.ts'
import { testAlteredSeeds } from './altered-seeds.ts'
import { openContext, type TestContext } from './context.ts'

describe('one altered answer of the execution node of a network', () => {
  let database: TestContext
  let execution: Awaited<ReturnType<typeof openAlteredExecution>>
  before(async () => {
    database = await openContext()
    execution = await openAlteredExecution(database)
  })
  after(async () => {
    await execution[Symbol.asyncDispose]()
    await database[Symbol.asyncDispose]()
  })

  testAlteredSeeds('rewards and deposits are never wrong and end with the truth', () => execution.run, {
    ...{ count: 2000, perRun: 12, worlds: executionWorlds, kept: [409, 1290, 1535] },
    isBelieved: isBelievedOfExecution,
  })
})
