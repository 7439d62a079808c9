// Makes a folder and those above it, one by one: where nothing can be made at all, as in /proc, Node's own recursive way tries for ever.
import { chmod, mkdir, readdir, stat } from 'node:fs/promises'
import { dirname, resolve } from 'node:path'

/** One that is there gets the mode as well while it is empty and ours: nothing in it was meant for others yet. */
export async function makeFolder(dir: string, mode: number): Promise<void> {
  const missing: string[] = []
  // Ends at the root at the latest, which is there.
  for (let at = resolve(dir); !(await isThere(at)); at = dirname(at)) missing.unshift(at)
  for (const one of missing) {
    await mkdir(one, { mode }).catch(async (error: NodeJS.ErrnoException) => {
      // Another process was quicker.
      if (error.code !== 'EEXIST') throw error
    })
  }
  const found = await stat(dir)
  if (!found.isDirectory()) throw Object.assign(new Error(`${dir} is a file`), { code: 'ENOTDIR' })
  // Not what many share, such as /tmp, which has the sticky bit.
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
