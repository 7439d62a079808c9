// Builds the console's pages at the first start from a checkout. An installed package contains the pages.
import { spawn } from 'node:child_process'
import { existsSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { note } from './print.ts'

const root = join(import.meta.dirname, '..')
const buildMs = 120_000
const outputCharsMax = 2000

/** The server runs meanwhile, and without the pages if the build fails. */
export async function buildConsole(
  dir: string,
  signal: AbortSignal,
): Promise<'exists' | 'no tool' | 'built' | 'failed'> {
  if (existsSync(join(dir, 'index.html'))) return 'exists'
  const tool = toolPath()
  if (!tool) return 'no tool'
  note('Building the console; this takes a few seconds the first time.')
  const failure = await runTool(tool, signal)
  if (failure === undefined) return 'built'
  if (!signal.aborted)
    note(`Cannot build the console. Everything else works. To see the error, run: npm run console\n${failure}`)
  return 'failed'
}

function toolPath(): string | undefined {
  try {
    return join(dirname(fileURLToPath(import.meta.resolve('vite/package.json'))), 'bin/vite.js')
  } catch {
    return undefined
  }
}

/** Returns the error output, or undefined after success. */
function runTool(tool: string, stop: AbortSignal): Promise<string | undefined> {
  const signal = AbortSignal.any([stop, AbortSignal.timeout(buildMs)])
  return new Promise((resolve) => {
    const child = spawn(process.execPath, [tool, 'build', 'console', '--logLevel', 'warn'], {
      cwd: root,
      signal,
      stdio: ['ignore', 'ignore', 'pipe'],
    })
    let output = ''
    child.stderr.on('data', (bytes) => {
      output = `${output}${bytes}`.slice(-outputCharsMax)
    })
    child.on('error', (error) => resolve(error.message))
    child.on('exit', (code) => resolve(code === 0 ? undefined : output.trim()))
  })
}
