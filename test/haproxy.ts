// HAProxy with the configuration of ops/haproxy in front of servers of a test.
//   await using balancer = await startHaproxy(['127.0.0.1:4001', '127.0.0.1:4002'])
import { readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { end, freePort, isInstalled, launch, ownFolder, withParent } from './programs.ts'

const program = '/usr/sbin/haproxy'

/** Why tests with HAProxy are skipped, for `skip`. */
export const noHaproxy: string | false = isInstalled(program, '-v')
  ? false
  : 'there is no HAProxy here (Debian: haproxy)'

export interface Haproxy extends AsyncDisposable {
  readonly url: string
}

/** Only the addresses differ from the configuration that is shipped. */
export async function startHaproxy(servers: readonly string[]): Promise<Haproxy> {
  const dir = await ownFolder('haproxy')
  const port = await freePort()
  const shipped = await readFile(join(import.meta.dirname, '../ops/haproxy/haproxy.cfg'), 'utf8')
  const lines = shipped.split('\n').flatMap((line) => {
    const number = /^\s*server tetrad-(\d)/.exec(line)?.[1]
    if (number === undefined) return [line.replace('bind :8080', `bind 127.0.0.1:${port}`)]
    const address = servers[Number(number) - 1]
    return address === undefined ? [] : [`    server tetrad-${number} ${address}`]
  })
  const file = join(dir, 'haproxy.cfg')
  await writeFile(file, lines.join('\n'))
  const child = await launch({ cwd: dir, command: [...withParent, program, '-db', '-f', file], ready: port })
  return {
    url: `http://127.0.0.1:${port}`,
    async [Symbol.asyncDispose]() {
      await end(child)
      await rm(dir, { recursive: true, force: true })
    },
  }
}
