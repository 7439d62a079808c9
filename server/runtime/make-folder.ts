// Creates a folder and its parents. Node's recursive mkdir is not used because it never ends where folders cannot be
// created, such as in /proc.
import { chmod, mkdir, readdir, stat } from 'node:fs/promises'
import { dirname, resolve } from 'node:path'

/** An existing folder gets the mode too if it is empty and owned by this user. */
export async function makeFolder(dir: string, mode: number): Promise<void> {
  const missing: string[] = []
  for (let at = resolve(dir); !(await isThere(at)); at = dirname(at)) missing.unshift(at)
  for (const path of missing) {
    await mkdir(path, { mode }).catch(async (error: NodeJS.ErrnoException) => {
      if (error.code !== 'EEXIST') throw error
    })
  }
  const found = await stat(dir)
  if (!found.isDirectory()) throw Object.assign(new Error(`${dir} is a file`), { code: 'ENOTDIR' })
  // Do not change shared folders such as /tmp, which have the sticky bit.
  const isOurs = missing.length === 0 && found.uid === process.getuid?.() && (found.mode & 0o1000) === 0
  if (isOurs && (found.mode & 0o777) !== mode && (await readdir(dir)).length === 0) await chmod(dir, mode)
}

const isThere = (path: string): Promise<boolean> =>
  stat(path).then(
    () => true,
    (error: NodeJS.ErrnoException) => {
      if (error.code === 'ENOENT') return false
      throw error
    },
  )
