// Reads a text file with a size limit. Errors name the path as configured and tell an operator what is wrong.
import { open } from 'node:fs/promises'

export async function readTextFile(path: string, bytesMax: number): Promise<string> {
  try {
    await using file = await open(path, 'r')
    const stat = await file.stat()
    if (!stat.isFile()) throw new Error(`${path} is not a file`)
    if (stat.size > bytesMax) throw new Error(`${path} has more than ${bytesMax} bytes`)
    // One byte more than allowed: the file may have grown since `stat`.
    const bytes = new Uint8Array(bytesMax + 1)
    let length = 0
    for (;;) {
      const { bytesRead } = await file.read(bytes, length, bytes.length - length)
      length += bytesRead
      if (length > bytesMax) throw new Error(`${path} has more than ${bytesMax} bytes`)
      if (bytesRead === 0) break
    }
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes.subarray(0, length))
  } catch (error) {
    throw describeFileError(path, error as NodeJS.ErrnoException)
  }
}

function describeFileError(path: string, error: NodeJS.ErrnoException): Error {
  if (error.code === 'ENOENT') return new Error(`${path} does not exist`, { cause: error })
  if (error.code === 'EACCES') return new Error(`${path} cannot be read: permission denied`, { cause: error })
  if (error instanceof TypeError) return new Error(`${path} is not UTF-8`, { cause: error })
  return error
}
