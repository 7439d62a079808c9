// Makes a folder and those above it, one by one: where nothing can be made at all, as in /proc, Node's own recursive way tries for ever.
import { mkdir, stat } from 'node:fs/promises'
import { dirname, resolve } from 'node:path'

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
  if (!(await stat(dir)).isDirectory()) throw Object.assign(new Error(`${dir} is a file`), { code: 'ENOTDIR' })
}

const isThere = (path: string): Promise<boolean> =>
  stat(path).then(
    () => true,
    (error: NodeJS.ErrnoException) => {
      if (error.code === 'ENOENT') return false
      throw error
    },
  )
