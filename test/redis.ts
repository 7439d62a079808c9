// A private Redis for tests: Debian's server in a temporary folder on a free loopback port, gone with the test.
//   await using redis = await startRedis()
import { rm } from 'node:fs/promises'
import { end, freePort, isInstalled, launch, ownFolder, withParent } from './programs.ts'

/** Why tests on Redis are left out, for `skip`. */
export const noRedis: string | false = isInstalled('redis-server', '--version')
  ? false
  : 'there is no Redis here (Debian: redis-server)'

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
  const dir = await ownFolder('redis')
  const port = await freePort()
  const settings = ['--bind', '127.0.0.1', '--port', String(port), '--dir', dir, '--save', '', '--appendonly', 'no']
  const command = [...withParent, 'redis-server', ...settings]
  const begin = () => launch({ cwd: dir, command, ready: /Ready to accept connections/ })
  let child = await begin()
  const kill = () => end(child)
  return {
    url: `redis://127.0.0.1:${port}`,
    kill,
    async start() {
      child = await begin()
    },
    freeze: () => void child.kill('SIGSTOP'),
    thaw: () => void child.kill('SIGCONT'),
    async [Symbol.asyncDispose]() {
      await kill()
      await rm(dir, { recursive: true, force: true })
    },
  }
}
