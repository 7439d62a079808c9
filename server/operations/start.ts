// Operations of a running server: warnings at its start, and the control socket that commands use. A server works
// without the socket, so failing to open it is only a warning.
import { findFundingsForOperator } from '#explorer/extensions/fundings/find-fundings.ts'
import { sourcesReport } from '#fx/rates/source-health.ts'
import { startControlServer } from '#runtime/control-socket.ts'
import type { AppContext } from '#server/context.ts'
import { comparisonForOperator } from '#validators/extensions/comparison/comparison-for-operator.ts'
import { explainForOperator } from '#validators/extensions/explain/explain-for-operator.ts'
import { incomeForOperator } from '#validators/extensions/income/income-for-operator.ts'
import { currentCoverage } from './coverage.ts'
import { type IngestCalls, ingestCalls } from './ingest-calls.ts'
import { limitsFindings } from './machine.ts'
import { runRetention } from './retention.ts'

export interface OperationsOptions {
  readonly dataDir: string
  readonly version: string
  /** The public URL, once the server listens. */
  readonly url?: () => string | undefined
  /** Where the ingesters run. Default: on this thread. */
  readonly ingestCalls?: IngestCalls
}

/** Resolves when the socket is open. Disposing closes it. */
export async function startOperations(context: AppContext, options: OperationsOptions): Promise<AsyncDisposable> {
  for (const { name, message, todo } of limitsFindings(context.settings))
    context.log.warn({ todo }, `${name}: ${message}`)
  const startedAt = new Date(context.clock.now()).toISOString()
  const calls = options.ingestCalls ?? ingestCalls(context, options.dataDir)
  const control = await startControlServer(options.dataDir, {
    status: async () => ({ pid: process.pid, version: options.version, startedAt, url: options.url?.() }),
    coverage: () => currentCoverage(context),
    rates: () => sourcesReport(context),
    ...calls,
    retention: () => runRetention(context, () => calls.dropMarketVersions(undefined)),
    explain: (input) => explainForOperator(context, input),
    fundings: (input) => findFundingsForOperator(context, input),
    income: (input) => incomeForOperator(context, input),
    comparison: (input) => comparisonForOperator(context, input),
    doctor: async (input) => {
      const { storeDiagnoses } = await import('./doctor.ts')
      return storeDiagnoses(context, Number((input as { sample?: unknown }).sample ?? 0), true, options.dataDir)
    },
  }).catch((error: Error) => {
    context.log.warn({ reason: error.message }, 'cannot open the control socket; backups need the server to be stopped')
    return undefined
  })
  return { [Symbol.asyncDispose]: async () => control?.close() }
}
