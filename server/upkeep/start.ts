// Upkeep of a running server: what is said once at its start, and the operator's socket. A server without the socket still
// serves, so one that cannot be made is a warning.
import { sourcesReport } from '#groups/fx/source-health.ts'
import { askBeside } from '#groups/validators/beside.ts'
import { keepTold } from '#groups/validators/ingest/audit.ts'
import { ingestStanding, repairProgress } from '#groups/validators/ingest/runs.ts'
import { openControl } from '#io/control.ts'
import { copyStores } from '#store/backup.ts'
import type { AppContext } from '../context.ts'
import { coverageReport } from './coverage.ts'
import { storeDiagnoses } from './doctor.ts'
import { limitsFindings } from './machine.ts'

export interface UpkeepOptions {
  readonly dataDir: string
  readonly version: string
  /** Where callers reach it, once it listens. */
  readonly url?: () => string | undefined
}

/** Runs until the signal aborts, and resolves when all of it has ended. */
export async function startUpkeep(context: AppContext, options: UpkeepOptions, signal: AbortSignal): Promise<void> {
  for (const { name, says, todo } of limitsFindings(context.settings)) context.log.warn({ todo }, `${name}: ${says}`)
  const startedAt = new Date(context.clock.now()).toISOString()
  const control = await openControl(options.dataDir, {
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
    beacon: (input) => ingestStanding(context, input),
    repair: (input) => repairProgress(context, input),
    audit: (input) => keepTold(context.duties, input),
    explain: (input) => askBeside(context, 'explain', input),
    find: (input) => askBeside(context, 'find', input),
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
