// Writes the output of a command to a file or to standard output. A file is written atomically: the complete file
// replaces the old one, or the old one stays.
import { chmod, open, realpath, rename, rm, stat } from 'node:fs/promises'
import { PathError, renamePath } from '#runtime/path-error.ts'
import { CommandFailure } from './failure.ts'

type Part = string | Uint8Array

export async function writeOut(path: string, parts: Iterable<Part> | AsyncIterable<Part>): Promise<void> {
  // Pipes and devices are written directly. For a link, its target is replaced.
  const existing = await stat(path).catch(() => undefined)
  const isFile = existing?.isFile() ?? true
  const target = existing && isFile ? await realpath(path) : path
  const draft = isFile ? `${target}.${process.pid}.part` : target
  try {
    {
      await using file = await open(draft, 'w')
      for await (const part of parts) await file.appendFile(part)
      if (isFile) await file.sync()
    }
    if (!isFile) return
    if (existing) await chmod(draft, existing.mode & 0o777)
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
  return new CommandFailure('path.unusable', `${path} cannot be written. Check the path (${message}).`)
}

/** Waits until the reader of the pipe has taken each part. Leaves standard output open. */
export async function writeStandardOutput(parts: AsyncIterable<Part>): Promise<void> {
  for await (const part of parts)
    if (!process.stdout.write(part)) await new Promise((resolve) => process.stdout.once('drain', resolve))
}
