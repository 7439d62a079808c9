// Extension: stores what the operator reports about the settlement of a trade. Commands and the console use it too.
import { extensions } from '#api/contract/extensions.ts'
import { createHandler } from '#http/handler.ts'
import type { FxContext } from '../../context.ts'
import { checkTransaction } from './check-transaction.ts'
import { isReported, type Report, readPermit, readTrade, type StoredTrade, storeReport } from './trade-store.ts'

export type ReportContext = Pick<FxContext, 'state' | 'settings' | 'clock' | 'random' | 'log' | 'fx'>

/** Undefined: there is no such trade. Without a node, the report is not checked. */
export async function reportAboutTrade(
  context: ReportContext,
  id: string,
  report: Report,
  signal?: AbortSignal,
): Promise<StoredTrade | undefined> {
  const permit = await readPermit(context.state, id)
  if (!permit) return undefined
  // The node may not have the receipt for ever.
  const known = await readTrade(context.state, id, { nowMs: context.clock.now() })
  if (known && isReported(known, report)) return known
  if (context.settings.fx.rpcUrl !== '')
    await context.fx.tradeCalls.run(report.by, () => checkTransaction(context, permit, report, signal), signal)
  const stored = await storeReport(context, permit.id, report)
  context.log.info({ trade: permit.id, status: report.status, txHash: report.txHash, by: report.by }, 'trade reported')
  return stored
}

export const reportTrade = createHandler(
  extensions['fx.reportTrade'],
  async ({ id, status, settlementTransactionHash }, context: FxContext, { caller, signal }) => {
    const report = { status, txHash: settlementTransactionHash, by: `key ${caller.keyId}` }
    const stored = await reportAboutTrade(context, id, report, signal)
    return stored ? { is: 'body', body: stored.trade } : { is: 'nothing' }
  },
)
