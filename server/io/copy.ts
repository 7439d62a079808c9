// Copies a file in a process of its own. A database engine may hold a lock on the file, and the operating system lets go
// of a process's locks as soon as that process closes the file anywhere: copying it here would open the door to a second
// owner without anybody noticing (decision 0113).
import { execFile } from 'node:child_process'
import { isPathCode, PathError } from './path-error.ts'

/** Shares blocks where the disk can, and is on the disk when it ends. */
const script = `
  const { closeSync, constants, copyFileSync, fsyncSync, openSync } = require('node:fs')
  const [from, to] = process.argv.slice(-2)
  copyFileSync(from, to, constants.COPYFILE_EXCL | constants.COPYFILE_FICLONE)
  const file = openSync(to, 'r+')
  fsyncSync(file)
  closeSync(file)`

export function copyApart(from: string, to: string): Promise<void> {
  return new Promise((resolve, reject) => {
    const options = { env: {}, windowsHide: true }
    execFile(process.execPath, ['--eval', script, '--', from, to], options, (error, _, stderr) => {
      if (!error) return resolve()
      const [, code, words] = /\b(E[A-Z]{3,}): ([^\n,]+)/.exec(stderr) ?? []
      // Whoever copies has the source open.
      if (isPathCode(code)) return reject(new PathError(code, to))
      reject(new Error(`${from} cannot be copied to ${to}: ${code ? `${words} (${code})` : error.message}`))
    })
  })
}
