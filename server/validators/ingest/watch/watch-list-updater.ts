// Passes the names of a watch file to the processor of a network when they have changed.

import type { Network } from '#api/contract/wire/validators.ts'
import { networkSettings } from '#runtime/settings/validators.ts'
import type { ValidatorsContext } from '../../context.ts'
import { readWatchNames } from '../../registry/watch-names.ts'
import type { EpochProcessor } from '../epochs/epoch-processor.ts'

/** Nothing may be stored: without its watch file, it is unknown which validators to store. */
export class WatchFileError extends Error {
  override readonly name = 'WatchFileError'
}

/**
 * A function that reads the file if it has changed. It logs each problem once. It throws if the file has never been
 * valid since the start.
 */
export function createWatchListUpdater(
  context: Pick<ValidatorsContext, 'settings' | 'validators' | 'log'>,
  network: Network,
  processor: EpochProcessor,
): () => Promise<void> {
  const { watchFile } = networkSettings(context.settings, network)
  let current: readonly string[] | undefined
  let lastProblem: string | undefined
  return async () => {
    if (watchFile === '') return
    const { names, problem, isComplete } = await readWatchNames(context, network)
    if (!isComplete) throw new WatchFileError(`${problem}. Correct the file: it is read again with the next poll`)
    if (problem !== undefined && problem !== lastProblem)
      context.log.warn({ network, reason: problem }, 'watch file is not valid; the previous list stays in force')
    lastProblem = problem
    if (names === current) return
    await processor.setWatch(names)
    if (current) context.log.info({ network, names: names.length }, 'watch file reloaded')
    current = names
  }
}
