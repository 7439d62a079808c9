// A private Redis for tests: Debian's server in a temporary folder on a free loopback port, gone with the test.
//   await using redis = await startRedis()
import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/** Why tests on Redis are left out, for `skip`. */
export const noRedis: string | false = found() ? false : 'there is no Redis here (Debian: redis-server)'

function found(): boolean {
  try {
    execFileSync('redis-server', ['--version'], { stdio: 'ignore' })
    return true
  } catch {
    return false
  }
}

export interface RedisServer extends AsyncDisposable {
  readonly url: string
  /** Ends it at once, and what it knew with it. */
  kill(): Promise<void>
  /** On the same port; empty. */
  start(): Promise<void>
  /** Lets it stand still, with its connections open. */
  freeze(): void
  thaw(): void
}

export async function startRedis(): Promise<RedisServer> {
  const dir = await mkdtemp(join(tmpdir(), 'tetrad-redis-'))
  const port = await freePort()
  let child = await launch(dir, port)
  const kill = () => end(child)
  return {
    url: `redis://127.0.0.1:${port}`,
    kill,
    async start() {
      child = await launch(dir, port)
    },
    freeze: () => void child.kill('SIGSTOP'),
    thaw: () => void child.kill('SIGCONT'),
    async [Symbol.asyncDispose]() {
      await kill()
      await rm(dir, { recursive: true, force: true })
    },
  }
}

async function launch(dir: string, port: number): Promise<ChildProcess> {
  const settings = ['--bind', '127.0.0.1', '--port', String(port), '--dir', dir, '--save', '', '--appendonly', 'no']
  // Nothing outlives this process.
  const child = spawn('setpriv', ['--pdeathsig', 'KILL', 'redis-server', ...settings], {
    stdio: ['ignore', 'pipe', 'ignore'],
  })
  let said = ''
  await new Promise<void>((resolve, reject) => {
    child.stdout?.on('data', (chunk) => {
      said = `${said}${chunk}`.slice(-8192)
      if (said.includes('Ready to accept connections')) resolve()
    })
    child.once('exit', () => reject(new Error(`Redis did not start: ${said}`)))
    child.once('error', reject)
  })
  return child
}

async function end(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return
  const exited = once(child, 'exit')
  child.kill('SIGKILL')
  await exited
}

async function freePort(): Promise<number> {
  const probe = createServer().listen(0, '127.0.0.1')
  await once(probe, 'listening')
  const { port } = probe.address() as { port: number }
  probe.close()
  return port
}
