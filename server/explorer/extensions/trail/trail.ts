// Extension: the funding trail of an address (behaviour/explorer.md#funding-trail).
import { extensions } from '#api/contract/extensions.ts'
import { createHandler } from '#http/handler.ts'
import { readAddress, requireServedChain } from '../../chains.ts'
import type { ExplorerContext } from '../../context.ts'
import { wrapResult } from '../../envelope.ts'
import { followTrail } from './follow-trail.ts'

/** Share of the request's time limit. The rest is for sending the response. */
const shareOfRequest = 0.8

export const trail = createHandler(
  extensions['explorer.trail'],
  async ({ chainid, address, depth }, context: ExplorerContext) => {
    const timeoutMs = context.settings.server.responseTimeoutMs * shareOfRequest
    const { result, ...rest } = await followTrail(context, chainid, readAddress(address), { depth, timeoutMs })
    return { ...wrapResult(result), ...rest }
  },
  requireServedChain,
)
