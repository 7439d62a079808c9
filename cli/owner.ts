// Who has the stores open: the running server, which is asked over its control socket, or this command itself.
import { existsSync } from 'node:fs'
import type { Desk } from '#serve/answer.ts'
import { CommandFailure } from './failure.ts'
import { type CommonOptions, configOf, dataDirOf } from './settings.ts'

export interface Question<T> {
  /** What the server is asked. */
  readonly name: string
  readonly input?: unknown
  /** How to answer it here. */
  readonly here: (desk: Desk) => Promise<T>
}

export async function askOwner<T>(options: CommonOptions, { name, input, here }: Question<T>): Promise<T> {
  const dataDir = dataDirOf(options)
  if (!existsSync(dataDir)) {
    throw new CommandFailure(
      'data.missing',
      `There is no data folder ${dataDir}; name it with --data, or start the server once.`,
    )
  }
  const { askControl, ControlError } = await import('#io/control.ts')
  try {
    const answer = await askControl(dataDir, name, input)
    if (answer) return answer.result as T
  } catch (error) {
    if (error instanceof ControlError) throw new CommandFailure('control.failed', error.message)
    throw error
  }
  return withDesk(options, here)
}

async function withDesk<T>(options: CommonOptions, work: (desk: Desk) => Promise<T>): Promise<T> {
  const { settings } = await configOf(options)
  const [{ openStores }, { systemClock }, { systemRandom }, { silentLog }] = await Promise.all([
    import('#store/open.ts'),
    import('#io/clock.ts'),
    import('#io/random.ts'),
    import('#io/log.ts'),
  ])
  const { state, facts, close } = await openStores(dataDirOf(options))
  try {
    return await work({ state, facts, settings, clock: systemClock, random: systemRandom, log: silentLog })
  } finally {
    await close()
  }
}
