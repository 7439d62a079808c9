// Calls of commands that concern ingesters. They run on the thread of the ingesters: it has their status, and a backup
// begins between two of its writes.
import { timeoutSignal } from '#runtime/clock.ts'
import type { IngestContext } from '#server/context.ts'
import { copyStores } from '#storage/backup.ts'
import { readIngestStatus, startOrReadRepair } from '#validators/ingest/status/ingest-status.ts'
import { dropMarketVersions, retentionTimeoutMs } from './retention.ts'

export const ingestCallNames = ['copyStores', 'dropMarketVersions', 'ingestStatus', 'repairEpochs'] as const

export type IngestCalls = Readonly<Record<(typeof ingestCallNames)[number], (input: unknown) => Promise<unknown>>>

export const ingestCalls = (context: IngestContext, dataDir: string): IngestCalls => ({
  copyStores: async (input) => {
    const { dir } = input as { dir?: unknown }
    if (typeof dir !== 'string' || dir === '') throw new Error('dir must be the folder to copy into')
    context.log.info({ dir }, 'copying stores')
    await copyStores(dataDir, context.ingest, dir)
    context.log.info({ dir }, 'stores copied')
  },
  dropMarketVersions: async () => dropMarketVersions(context, timeoutSignal(context.clock, retentionTimeoutMs)),
  ingestStatus: (input) => readIngestStatus(context, input),
  repairEpochs: (input) => startOrReadRepair(context, input),
})
