// Runs the command line in tests. `runCommand` calls `main(args)` in a process that is reused (command-host.ts).
// `runChild` starts a new process, for tests of the launcher, signals and exit codes.
import { type ChildProcess, execFile, fork } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { node24 } from './node-24.ts'

export const launcher = join(import.meta.dirname, '..', 'cli', 'tetrad.js')
const hostFile = join(import.meta.dirname, '..', 'test', 'command-host.ts')
const commandTimeoutMs = 120_000

export interface CommandResult {
  readonly code: number | string | undefined
  readonly stdout: string
  readonly stderr: string
}

export interface RunOptions {
  readonly cwd: string
  readonly env?: Readonly<Record<string, string>>
}

export interface RunChildOptions extends RunOptions {
  readonly node?: string
  readonly file?: string
}

/** A host runs one command at a time. */
const idleHosts: ChildProcess[] = []

export async function runCommand(args: readonly string[], { cwd, env }: RunOptions): Promise<CommandResult> {
  const host = idleHosts.pop() ?? startHost()
  setRef(host, true)
  // Output outside a command: after its end, or of a crash.
  let output = ''
  const onData = (chunk: unknown) => {
    output += String(chunk)
  }
  for (const stream of [host.stdout, host.stderr]) stream?.on('data', onData)
  const timer = setTimeout(() => host.kill('SIGKILL'), commandTimeoutMs)
  try {
    host.send({ args, cwd, env: { ...commandEnv(), ...env } })
    const [result] = await Promise.race([once(host, 'message'), once(host, 'exit').then(crashed)])
    if (host.connected) {
      setRef(host, false)
      idleHosts.push(host)
    }
    return result as CommandResult
  } finally {
    clearTimeout(timer)
    for (const stream of [host.stdout, host.stderr]) stream?.off('data', onData)
  }

  function crashed([code, signal]: unknown[]): [CommandResult] {
    return [{ code: (signal ?? code) as string | number, stdout: '', stderr: output }]
  }
}

/** Commands run in the Node of the tests, or in the oldest one that is supported. */
const missing = join(import.meta.dirname, '..', 'cli', 'node-24.js')
const nodeOfCommands = process.env.TEST_NODE_24
  ? { execPath: node24, execArgv: ['--import', missing] }
  : { execPath: process.execPath, execArgv: [] }

const startHost = (): ChildProcess =>
  fork(hostFile, { stdio: ['ignore', 'pipe', 'pipe', 'ipc'], env: commandEnv(), ...nodeOfCommands })

/** An idle host does not keep the test process running. */
function setRef(host: ChildProcess, isBusy: boolean): void {
  const handles = [host, host.channel, host.stdout, host.stderr] as unknown as { ref(): void; unref(): void }[]
  for (const handle of handles) isBusy ? handle.ref() : handle.unref()
}

export function runChild(
  args: readonly string[],
  { cwd, env, node = nodeOfCommands.execPath, file = launcher }: RunChildOptions,
): Promise<CommandResult> {
  return new Promise((resolve) => {
    const options = { cwd, env: { ...commandEnv(), ...env }, timeout: commandTimeoutMs, maxBuffer: 16_777_216 }
    execFile(node, [file, ...args], options, (error, stdout, stderr) => {
      resolve({ code: error ? (error.signal ?? error.code ?? undefined) : 0, stdout, stderr })
    })
  })
}

/** Without the settings of the test run. */
export const commandEnv = (): Record<string, string> =>
  Object.fromEntries(
    Object.entries(process.env).filter(([name]) => !/^(TETRAD_|NODE_(?!COMPILE_CACHE))/.test(name)),
  ) as Record<string, string>

export async function openFolder() {
  const dir = await mkdtemp(join(tmpdir(), 'tetrad-cli-'))
  return { dir, [Symbol.asyncDispose]: () => rm(dir, { recursive: true, force: true }) }
}
