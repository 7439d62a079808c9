// Upkeep of a running server: what is said once at its start, and the operator's socket. A server without the socket still
// serves, so one that cannot be made is a warning.
import { sourcesReport } from '#fx/rates/source-health.ts'
import { startControlServer } from '#runtime/control-socket.ts'
import type { AppContext } from '#server/context.ts'
import { copyStores } from '#storage/backup.ts'
import { storeCommandAudit } from '#validators/ingest/epochs/audit.ts'
import { readIngestStatus, startOrReadRepair } from '#validators/ingest/ingest-status.ts'
import { runOperatorQuery } from '#validators/operator-queries.ts'
import { coverageReport } from './coverage.ts'
import { storeDiagnoses } from './doctor.ts'
import { limitsFindings } from './machine.ts'

export interface OperationsOptions {
  readonly dataDir: string
  readonly version: string
  /** Where callers reach it, once it listens. */
  readonly url?: () => string | undefined
}

/** Runs until the signal aborts, and resolves when all of it has ended. */
export async function startOperations(
  context: AppContext,
  options: OperationsOptions,
  signal: AbortSignal,
): Promise<void> {
  for (const { name, message, todo } of limitsFindings(context.settings))
    context.log.warn({ todo }, `${name}: ${message}`)
  const startedAt = new Date(context.clock.now()).toISOString()
  const control = await startControlServer(options.dataDir, {
    status: async () => ({ pid: process.pid, version: options.version, startedAt, url: options.url?.() }),
    coverage: () => coverageReport(context),
    rates: () => sourcesReport(context),
    copy: async (input) => {
      const { dir } = input as { dir?: unknown }
      if (typeof dir !== 'string' || dir === '') throw new Error('name the folder to copy into')
      context.log.info({ dir }, 'copy of the stores begins')
      await copyStores(options.dataDir, context.duties, dir)
      context.log.info({ dir }, 'stores copied')
    },
    beacon: (input) => readIngestStatus(context, input),
    repair: (input) => startOrReadRepair(context, input),
    audit: (input) => storeCommandAudit(context.duties, input),
    explain: (input) => runOperatorQuery(context, 'explain', input),
    find: (input) => runOperatorQuery(context, 'find', input),
    doctor: (input) => storeDiagnoses(context, Number((input as { sample?: unknown }).sample ?? 0)),
  }).catch((error: Error) => {
    context.log.warn({ reason: error.message }, 'there is no control socket: backups need the server to be stopped')
    return undefined
  })
  await untilAborted(signal)
  await control?.close()
}

const untilAborted = (signal: AbortSignal): Promise<void> =>
  new Promise((resolve) => {
    if (signal.aborted) resolve()
    else signal.addEventListener('abort', () => resolve(), { once: true })
  })
