// For tests: the command line as a child process, as a person or a script would start it.
import { execFile } from 'node:child_process'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

export const launcher = join(import.meta.dirname, 'tetrad.js')

export interface Ended {
  readonly code: number | string | undefined
  readonly stdout: string
  readonly stderr: string
}

export interface RunOptions {
  readonly cwd: string
  readonly env?: Readonly<Record<string, string>>
  readonly node?: string
  readonly file?: string
}

export function run(args: readonly string[], { cwd, env, node = process.execPath, file = launcher }: RunOptions) {
  const clean = Object.fromEntries(Object.entries(process.env).filter(([name]) => !/^(TETRAD_|NODE_)/.test(name)))
  return new Promise<Ended>((resolve) => {
    const options = { cwd, env: { ...clean, ...env }, timeout: 60_000, maxBuffer: 16_777_216 }
    execFile(node, [file, ...args], options, (error, stdout, stderr) => {
      resolve({ code: error ? (error.signal ?? error.code ?? undefined) : 0, stdout, stderr })
    })
  })
}

export async function openFolder() {
  const dir = await mkdtemp(join(tmpdir(), 'tetrad-cli-'))
  return { dir, [Symbol.asyncDispose]: () => rm(dir, { recursive: true, force: true }) }
}
