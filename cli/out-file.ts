// A file that a command was told to write: whole under its name, or not there. What was there before stays until then.
import { chmod, open, realpath, rename, rm, stat } from 'node:fs/promises'
import { PathError, renamePath } from '#runtime/path-error.ts'
import { CommandFailure } from './failure.ts'

export async function writeOut(path: string, pieces: Iterable<string> | AsyncIterable<string>): Promise<void> {
  // A pipe or a device is written to, not replaced; a link keeps pointing where it does.
  const there = await stat(path).catch(() => undefined)
  const isFile = there?.isFile() ?? true
  const target = there && isFile ? await realpath(path) : path
  const draft = isFile ? `${target}.${process.pid}.part` : target
  try {
    {
      await using file = await open(draft, 'w')
      for await (const piece of pieces) await file.appendFile(piece)
      if (isFile) await file.sync()
    }
    if (!isFile) return
    if (there) await chmod(draft, there.mode & 0o777)
    await rename(draft, target)
  } catch (error) {
    if (isFile) await rm(draft, { force: true })
    throw toOutFileError(path, error)
  }
}

function toOutFileError(path: string, error: unknown): unknown {
  const renamed = renamePath(error, path)
  if (renamed instanceof PathError) return new CommandFailure('path.unusable', `${renamed.message}.`)
  const { code, message, syscall } = error as NodeJS.ErrnoException
  if (code === undefined || syscall === undefined) return error
  return new CommandFailure('path.unusable', `${path} cannot be written; check the path (${message}).`)
}
