// The data folder for commands that work beside a running server: its state store alone. And the one place that keeps
// every command of a configured installation out of the demo world (behaviour/operations.md#demo-data).
import { existsSync } from 'node:fs'
import type { State, StateReader } from '#storage/state.ts'
import { CommandFailure } from './failure.ts'
import { type CommonOptions, configOf, dataDirOf } from './settings.ts'

/** A folder that is only looked into must be there: a slip in --data must not look like "nothing there". */
export async function withState<T>(
  options: CommonOptions,
  folder: 'found' | 'made',
  work: (state: State) => Promise<T>,
): Promise<T> {
  const dir = dataDirOf(options)
  const { store } = (await configOf(options)).settings
  if (folder === 'found' && store.state === '' && !existsSync(dir)) {
    throw new CommandFailure(
      'data.missing',
      `There is no data folder ${dir}; name it with --data, or start the server once.`,
    )
  }
  const { openState } = await import('#storage/open.ts')
  const state = await openState(dir, store)
  try {
    await refuseDemo(options, state)
    return await work(state)
  } finally {
    await state.close()
  }
}

/**
 * Whoever opens the stores asks here first. Once something is configured, invented data is neither shown nor added to as
 * one's own; with nothing configured the demo world may be looked at and played with.
 */
export async function refuseDemo(options: CommonOptions, state: StateReader): Promise<'nothing' | 'demo' | 'own'> {
  const { contentsOf } = await import('#simulator/demo-mark.ts')
  const contents = await contentsOf(state)
  if (contents !== 'demo') return contents
  const { configured, settings } = await configOf(options)
  if (!configured) return contents
  const folderText = settings.store.state === '' ? dataDirOf(options) : 'The database of store.state'
  throw new CommandFailure(
    'data.demo',
    `${folderText} holds the demo world, which is not your data; name another folder with --data, or delete this one.`,
  )
}
