// Upkeep of a running server: the operator's socket, and letting go of what is over. A server without it still serves, so
// a socket that cannot be made is a warning.
import { openControl } from '#io/control.ts'
import type { Desk } from '#serve/answer.ts'
import { copyStores } from '#store/backup.ts'
import { coverageReport } from './coverage.ts'
import { storeDiagnoses } from './doctor.ts'
import { startRetention } from './retention.ts'

export interface UpkeepOptions {
  readonly dataDir: string
  readonly version: string
}

/** Runs until the signal aborts, and resolves when all of it has ended. */
export async function startUpkeep(desk: Desk, options: UpkeepOptions, signal: AbortSignal): Promise<void> {
  const startedAt = new Date(desk.clock.now()).toISOString()
  const control = await openControl(options.dataDir, {
    status: async () => ({ pid: process.pid, version: options.version, startedAt }),
    coverage: () => coverageReport(desk),
    backup: async (input) => {
      const { dir } = input as { dir?: unknown }
      if (typeof dir !== 'string' || dir === '') throw new Error('name the folder to back up into')
      desk.log.info({ dir }, 'backup begins')
      await copyStores(options.dataDir, desk.facts, dir)
      desk.log.info({ dir }, 'backup copied')
    },
    doctor: (input) => storeDiagnoses(desk, Number((input as { sample?: unknown }).sample ?? 0)),
  }).catch((error: Error) => {
    desk.log.warn({ reason: error.message }, 'there is no control socket: backups need the server to be stopped')
    return undefined
  })
  await Promise.all([startRetention(desk, signal), untilAborted(signal)])
  await control?.close()
}

const untilAborted = (signal: AbortSignal): Promise<void> =>
  new Promise((resolve) => {
    if (signal.aborted) resolve()
    else signal.addEventListener('abort', () => resolve(), { once: true })
  })
