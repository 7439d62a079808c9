// The data folder for commands that work beside a running server: its state store alone.
import { existsSync } from 'node:fs'
import type { State } from '#store/state.ts'
import { CommandFailure } from './failure.ts'
import { type CommonOptions, dataDirOf } from './settings.ts'

/** A folder that is only looked into must be there: a slip in --data must not look like "nothing there". */
export async function withState<T>(
  options: CommonOptions,
  folder: 'found' | 'made',
  work: (state: State) => Promise<T>,
): Promise<T> {
  const dir = dataDirOf(options)
  if (folder === 'found' && !existsSync(dir)) {
    throw new CommandFailure(
      'data.missing',
      `There is no data folder ${dir}; name it with --data, or start the server once.`,
    )
  }
  const { openState } = await import('#store/open.ts')
  const state = await openState(dir)
  try {
    return await work(state)
  } finally {
    await state.close()
  }
}
