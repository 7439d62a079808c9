// Reads all files of a build folder into memory, with limits on number and size. A missing folder counts as empty.
import { readdir, readFile, stat } from 'node:fs/promises'
import { join, relative, sep } from 'node:path'

/** Path, such as `assets/index.js` → bytes of the files in the folder and its subfolders that `isIncluded` accepts. */
export async function readFolder(
  dir: string,
  limits: { filesMax: number; bytesMax: number },
  isIncluded: (path: string) => boolean = () => true,
): Promise<ReadonlyMap<string, Uint8Array>> {
  const entries = await readdir(dir, { withFileTypes: true, recursive: true }).catch(emptyIfMissing)
  const paths = entries
    .filter((entry) => entry.isFile())
    .map(({ parentPath, name }) => relative(dir, join(parentPath, name)).replaceAll(sep, '/'))
    .filter(isIncluded)
  if (paths.length > limits.filesMax) throw new Error(`${dir} has more than ${limits.filesMax} files`)
  const files = new Map<string, Uint8Array>()
  let byteCount = 0
  for (const path of paths) {
    byteCount += (await stat(join(dir, path))).size
    if (byteCount > limits.bytesMax) throw new Error(`${dir} has more than ${limits.bytesMax} bytes`)
    files.set(path, await readFile(join(dir, path)))
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
