// How many files and connections this process has open, and how many it may have.
import { readdir, readFile } from 'node:fs/promises'

export interface OpenFiles {
  readonly open: number
  readonly max: number
}

export type ReadOpenFiles = () => Promise<OpenFiles>

/** Undefined if the operating system has no /proc, or no limit. */
export async function openFilesReader(): Promise<ReadOpenFiles | undefined> {
  const limits = await readFile('/proc/self/limits', 'utf8').catch(() => '')
  const max = Number(/^Max open files\s+(\d+)/m.exec(limits)?.[1])
  if (!Number.isSafeInteger(max)) return undefined
  return async () => {
    try {
      return { open: (await readdir('/proc/self/fd')).length, max }
    } catch (error) {
      // Reading the folder needs a descriptor too.
      if (isOutOfFiles(error)) return { open: max, max }
      throw error
    }
  }
}

const isOutOfFiles = (error: unknown): boolean => ['EMFILE', 'ENFILE'].includes((error as { code?: string }).code ?? '')
