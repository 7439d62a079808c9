// Reads a folder of files that a build has made, whole, with limits on their number and size. Where the folder is not
// there, there are none.
import { readdir, readFile, stat } from 'node:fs/promises'
import { join } from 'node:path'

export interface FolderLimits {
  readonly filesMax: number
  readonly bytesMax: number
}

/** Name → bytes of the files directly in the folder. */
export async function readFolder(dir: string, limits: FolderLimits): Promise<ReadonlyMap<string, Uint8Array>> {
  const entries = await readdir(dir, { withFileTypes: true }).catch(noneWhereMissing)
  const names = entries.filter((entry) => entry.isFile()).map(({ name }) => name)
  if (names.length > limits.filesMax) throw new Error(`${dir} has more than ${limits.filesMax} files`)
  const files = new Map<string, Uint8Array>()
  let byteCount = 0
  for (const name of names) {
    byteCount += (await stat(join(dir, name))).size
    if (byteCount > limits.bytesMax) throw new Error(`${dir} has more than ${limits.bytesMax} bytes`)
    files.set(name, await readFile(join(dir, name)))
  }
  return files
}

function noneWhereMissing(error: NodeJS.ErrnoException): [] {
  if (error.code === 'ENOENT') return []
  throw error
}

/** Another value whenever the file is written anew; undefined while there is none. */
export async function fileStamp(path: string): Promise<string | undefined> {
  const found = await stat(path).catch(() => undefined)
  return found && `${found.mtimeMs} ${found.size} ${found.ino}`
}
