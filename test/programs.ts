// Starts other programs for tests: on free loopback ports, in their own folders. They end with the test or with this
// process.
import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import { randomInt } from 'node:crypto'
import { once } from 'node:events'
import { mkdtemp } from 'node:fs/promises'
import { connect, createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'

const startWithinMs = 60_000

/** Prefix for a command that must end with this process, however that ends. */
export const withParent = ['setpriv', '--pdeathsig', 'KILL'] as const

export function isInstalled(program: string, ...args: readonly string[]): boolean {
  try {
    execFileSync(program, args, { stdio: 'ignore' })
    return true
  } catch {
    return false
  }
}

export const ownFolder = (name: string): Promise<string> => mkdtemp(join(tmpdir(), `tetrad-${name}-`))

interface Launch {
  readonly cwd: string
  readonly command: readonly string[]
  /** The output that shows that it is ready, or the port on which it listens. */
  readonly ready: RegExp | number
  /** The longest wait. */
  readonly withinMs?: number
}

export async function launch({ cwd, command, ready, withinMs = startWithinMs }: Launch): Promise<ChildProcess> {
  const [program = '', ...args] = command
  const child = spawn(program, args, { cwd, stdio: ['ignore', 'pipe', 'pipe'] })
  let output = ''
  const failed = Promise.withResolvers<never>()
  const onOutput = Promise.withResolvers<void>()
  const listen = (chunk: unknown) => {
    output = `${output}${chunk}`.slice(-8192)
    if (ready instanceof RegExp && ready.test(output)) onOutput.resolve()
  }
  for (const stream of [child.stdout, child.stderr]) stream?.on('data', listen)
  child.once('error', failed.reject)
  child.once('exit', () => failed.reject(new Error(`did not start: ${command.join(' ')}\n${output}`)))
  const until = new AbortController()
  const late = sleep(withinMs, undefined, { signal: until.signal }).then(() => {
    throw new Error(`not ready after ${withinMs} ms: ${command.join(' ')}\n${output}`)
  })
  late.catch(() => undefined)
  try {
    await Promise.race([
      typeof ready === 'number' ? listening(ready, until.signal) : onOutput.promise,
      failed.promise,
      late,
    ])
    return child
  } catch (error) {
    await end(child)
    throw error
  } finally {
    until.abort()
    failed.promise.catch(() => undefined)
  }
}

/** Kills a process, by default without warning. */
export async function end(child: ChildProcess, signal: NodeJS.Signals = 'SIGKILL'): Promise<void> {
  if (child.pid === undefined || child.exitCode !== null || child.signalCode !== null) return
  const exited = once(child, 'exit')
  child.kill(signal)
  await exited
}

/**
 * For programs that cannot choose a port by themselves. The port is below those that the system gives to servers which
 * can, so that none of them gets it before the program listens.
 */
export async function freePort(attempts = 100): Promise<number> {
  const port = randomInt(15_000, 32_000)
  const probe = createServer().listen(port, '127.0.0.1')
  try {
    await once(probe, 'listening')
  } catch (error) {
    if (attempts > 1) return freePort(attempts - 1)
    throw error
  }
  await once(probe.close(), 'close')
  return port
}

async function listening(port: number, signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    const socket = connect(port, '127.0.0.1')
    try {
      await once(socket, 'connect')
      return
    } catch {
      await sleep(50)
    } finally {
      socket.destroy()
    }
  }
}
