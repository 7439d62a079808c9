// A temporary Redis server for tests, on a free loopback port.
//   await using redis = await startRedis()
import { rm } from 'node:fs/promises'
import { end, freePort, isInstalled, launch, ownFolder, withParent } from './programs.ts'

/** Why tests on Redis are skipped, for `skip`. */
export const noRedis: string | false = isInstalled('redis-server', '--version')
  ? false
  : 'there is no Redis here (Debian: redis-server)'

export interface RedisServer extends AsyncDisposable {
  readonly url: string
  /** Kills it; its data is lost. */
  kill(): Promise<void>
  /** Starts it on the same port, without data. */
  start(): Promise<void>
  /** Suspends it with open connections. */
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
