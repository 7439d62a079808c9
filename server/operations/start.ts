// Operations of a running server: warnings at its start, and the control socket that commands use. A server works
// without the socket, so failing to open it is only a warning.
import { sourcesReport } from '#fx/rates/source-health.ts'
import { startControlServer } from '#runtime/control-socket.ts'
import type { AppContext } from '#server/context.ts'
import { copyStores } from '#storage/backup.ts'
import { explainForOperator } from '#validators/explain-for-operator.ts'
import { storeCommandAudit } from '#validators/ingest/epochs/audit.ts'
import { readIngestStatus, startOrReadRepair } from '#validators/ingest/ingest-status.ts'
import { coverageReport } from './coverage.ts'
import { limitsFindings } from './machine.ts'

export interface OperationsOptions {
  readonly dataDir: string
  readonly version: string
  /** The public URL, once the server listens. */
  readonly url?: () => string | undefined
}

/** Resolves when the socket is open. Disposing closes it. */
export async function startOperations(context: AppContext, options: OperationsOptions): Promise<AsyncDisposable> {
  for (const { name, message, todo } of limitsFindings(context.settings))
    context.log.warn({ todo }, `${name}: ${message}`)
  const startedAt = new Date(context.clock.now()).toISOString()
  const control = await startControlServer(options.dataDir, {
    status: async () => ({ pid: process.pid, version: options.version, startedAt, url: options.url?.() }),
    coverage: () => coverageReport(context),
    rates: () => sourcesReport(context),
    copyStores: async (input) => {
      const { dir } = input as { dir?: unknown }
      if (typeof dir !== 'string' || dir === '') throw new Error('dir must be the folder to copy into')
      context.log.info({ dir }, 'copying stores')
      await copyStores(options.dataDir, context.duties, dir)
      context.log.info({ dir }, 'stores copied')
    },
    ingestStatus: (input) => readIngestStatus(context, input),
    repairEpochs: (input) => startOrReadRepair(context, input),
    storeAudit: (input) => storeCommandAudit(context.duties, input),
    explain: (input) => explainForOperator(context, input),
    doctor: async (input) => {
      const { storeDiagnoses } = await import('./doctor.ts')
      return storeDiagnoses(context, Number((input as { sample?: unknown }).sample ?? 0))
    },
  }).catch((error: Error) => {
    context.log.warn({ reason: error.message }, 'cannot open the control socket; backups need the server to be stopped')
    return undefined
  })
  return { [Symbol.asyncDispose]: async () => control?.close() }
}
