// Reads a text file with a size limit. Errors name the path as configured and tell an operator what is wrong.
import { type FileHandle, open } from 'node:fs/promises'

export async function readTextFile(path: string, bytesMax: number): Promise<string> {
  try {
    await using file = await open(path, 'r')
    const stat = await file.stat()
    if (!stat.isFile()) throw new Error(`${path} is not a file`)
    if (stat.size > bytesMax) throw new Error(`${path} has more than ${bytesMax} bytes`)
    const text = await readText(file, bytesMax)
    if (text === undefined) throw new Error(`${path} has more than ${bytesMax} bytes`)
    return text
  } catch (error) {
    throw describeFileError(path, error as NodeJS.ErrnoException)
  }
}

/** The text of an open file, also if its size is unknown or grows. Undefined if it has more bytes than allowed. */
export async function readText(file: FileHandle, bytesMax: number): Promise<string | undefined> {
  // One byte more than allowed, to notice that the file has more.
  const bytes = new Uint8Array(bytesMax + 1)
  let length = 0
  for (let read = 1; read > 0 && length < bytes.length; length += read) {
    read = (await file.read(bytes, length, bytes.length - length)).bytesRead
  }
  return length > bytesMax ? undefined : new TextDecoder('utf-8', { fatal: true }).decode(bytes.subarray(0, length))
}

function describeFileError(path: string, error: NodeJS.ErrnoException): Error {
  if (error.code === 'ENOENT') return new Error(`${path} does not exist`, { cause: error })
  if (error.code === 'EACCES') return new Error(`${path} cannot be read: permission denied`, { cause: error })
  if (error instanceof TypeError) return new Error(`${path} is not UTF-8`, { cause: error })
  return error
}
