// The names on the watch list of a network: those of the setting `watch` and those of the file `watchFile`
// (behaviour/validators.md#watch-lists). A file that has changed is read again. If it is not valid, the names of its
// last valid version stay in force.
import type { Network } from '#api/contract/wire/validators.ts'
import { errorMessage } from '#core/error-message.ts'
import { fileStamp } from '#runtime/read-folder.ts'
import { readTextFile } from '#runtime/read-text-file.ts'
import { networkSettings, watchNamePattern, watchNamesMax } from '#runtime/settings/validators.ts'
import type { ValidatorsContext } from '../context.ts'

export interface WatchNames {
  /** The same array until the names change. */
  readonly names: readonly string[]
  /** Why the present version of the file is not in force. */
  readonly problem: string | undefined
  /** False: no version of the file has been valid yet, so names are missing. */
  readonly isComplete: boolean
}

/** Enough for the largest number of public keys, with a comment for each. */
const bytesMax = 32 * 1024 * 1024
const shownCharsMax = 60

export async function readWatchNames(
  { settings, validators }: Pick<ValidatorsContext, 'settings' | 'validators'>,
  network: Network,
): Promise<WatchNames> {
  const { watch, watchFile } = networkSettings(settings, network)
  if (watchFile === '') return { names: watch, problem: undefined, isComplete: true }
  return validators.watchFiles.getOrInsertComputed(network, () => createWatchFileReader(watchFile, watch))()
}

export type ReadWatchFile = () => Promise<WatchNames>

function createWatchFileReader(path: string, otherNames: readonly string[]): ReadWatchFile {
  /** Undefined: the file has not been read yet. */
  let lastStamp: string | undefined
  let current: WatchNames = { names: otherNames, problem: undefined, isComplete: false }
  return async () => {
    const stamp = (await fileStamp(path)) ?? 'missing'
    if (stamp === lastStamp) return current
    try {
      const read = [...otherNames, ...parseWatchFile(path, await readTextFile(path, bytesMax))]
      const { names: before, isComplete } = current
      const isSame = isComplete && read.length === before.length && read.every((name, at) => name === before[at])
      current = { names: isSame ? before : read, problem: undefined, isComplete: true }
    } catch (error) {
      current = { ...current, problem: errorMessage(error) }
    }
    lastStamp = stamp
    return current
  }
}

/** An empty file is refused: it is rather a mistake than the wish to store nothing, and an empty list means all. */
function parseWatchFile(path: string, text: string): string[] {
  const pattern = new RegExp(watchNamePattern)
  const names: string[] = []
  for (const [at, line] of text.split('\n').entries()) {
    const name = line.replace(/#.*/s, '').trim()
    if (name === '') continue
    if (!pattern.test(name)) {
      const shown = name.length > shownCharsMax ? `${name.slice(0, shownCharsMax)}…` : name
      throw new Error(`${path}, line ${at + 1}: "${shown}" is not an index, public key or withdrawal address`)
    }
    names.push(name)
    if (names.length > watchNamesMax) throw new Error(`${path} has more than ${watchNamesMax} validators`)
  }
  if (names.length === 0) throw new Error(`${path} contains no validator; add one per line`)
  return names
}
