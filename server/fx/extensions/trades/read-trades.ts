// Extension: lists the trades of the caller's key, and returns one. For admin keys, also what is needed to settle one.
import { extensions } from '#api/contract/extensions.ts'
import { createHandler } from '#http/handler.ts'
import type { FxContext } from '../../context.ts'
import { listTrades, readPermit, readTrade } from './trade-store.ts'

export const trades = createHandler(
  extensions['fx.trades'],
  async ({ status, limit, before }, { state, provenTime }: FxContext, { caller: { keyId } }) => {
    const nowMs = provenTime.forDeletions()
    const found = await listTrades(state, { nowMs, keyId, status, before, count: limit + 1 })
    const shown = found.slice(0, limit).map(({ trade }) => trade)
    return { is: 'body', body: { trades: shown, next: found.length > limit ? (shown.at(-1)?.id ?? null) : null } }
  },
)

export const trade = createHandler(
  extensions['fx.trade'],
  async ({ id }, { state, provenTime }: FxContext, { caller: { keyId } }) => {
    const stored = await readTrade(state, id, { nowMs: provenTime.forDeletions(), keyId })
    return stored ? { is: 'body', body: stored.trade } : { is: 'nothing' }
  },
)

/** Needs an admin key. */
export const tradePermit = createHandler(extensions['fx.tradePermit'], async ({ id }, { state, log }, { caller }) => {
  const body = await readPermit(state, id)
  if (!body) return { is: 'nothing' }
  log.info({ keyId: caller.keyId, trade: body.id }, 'permit of a trade read')
  return { is: 'body', body }
})
