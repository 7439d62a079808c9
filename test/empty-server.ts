// A server in this process on empty databases, for tests that need no data. A demo server takes two seconds more of CPU time.
//   await using server = await openEmptyServer({ mcp: { enabled: true } })
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type Clock, systemClock } from '#runtime/clock.ts'
import { silentLog } from '#runtime/log.ts'
import { type RunningServer, startServer } from '#server/app.ts'
import { settingsWith } from './context.ts'
import { copyEmptyStores } from './template.ts'

/** `overrides` are settings as in tetrad.yaml. */
export async function openEmptyServer(
  overrides: object = {},
  clock: Clock = systemClock,
): Promise<RunningServer & AsyncDisposable> {
  await using cleanup = new AsyncDisposableStack()
  const dataDir = await mkdtemp(join(tmpdir(), 'tetrad-empty-'))
  cleanup.defer(() => rm(dataDir, { recursive: true, force: true }))
  await copyEmptyStores(dataDir)
  const settings = settingsWith({ server: { port: 0 }, ...overrides })
  const server = await startServer({ settings, dataDir, log: silentLog, clock })
  cleanup.defer(() => server.close())
  const resources = cleanup.move()
  return { ...server, [Symbol.asyncDispose]: () => resources.disposeAsync() }
}
