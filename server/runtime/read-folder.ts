// Reads all files of a build folder into memory, with limits on number and size. A missing folder counts as empty.
import { readdir, readFile, stat } from 'node:fs/promises'
import { join } from 'node:path'

/** Name → bytes of the files directly in the folder. */
export async function readFolder(
  dir: string,
  limits: { filesMax: number; bytesMax: number },
): Promise<ReadonlyMap<string, Uint8Array>> {
  const entries = await readdir(dir, { withFileTypes: true }).catch(emptyIfMissing)
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

function emptyIfMissing(error: NodeJS.ErrnoException): [] {
  if (error.code === 'ENOENT') return []
  throw error
}

/** Changes whenever the file is replaced; undefined if it does not exist. */
export async function fileStamp(path: string): Promise<string | undefined> {
  const stats = await stat(path).catch(() => undefined)
  return stats && `${stats.mtimeMs} ${stats.size} ${stats.ino}`
}
