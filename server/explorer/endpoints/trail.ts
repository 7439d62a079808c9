// Extension: the funding trail of an address (behaviour/explorer.md#funding-trail).
import { extensions } from '#api/extensions.ts'
import { invalid } from '#core/fault.ts'
import { createHandler } from '#http/handler.ts'
import { requireServedChain } from '../chains.ts'
import type { ExplorerContext } from '../context.ts'
import { wrapResult } from '../envelope.ts'
import { explorerErrorFormat } from '../error-format.ts'
import { followTrail } from '../trail/follow-trail.ts'

const addressText = /^0x[0-9a-f]{40}$/

/** Share of the request's time limit. The rest is for sending the response. */
const shareOfRequest = 0.8

export const trail = createHandler(
  extensions['explorer.trail'],
  explorerErrorFormat,
  async ({ chainid, address: input, depth }, context: ExplorerContext) => {
    const address = input.toLowerCase()
    if (!addressText.test(address)) throw invalid(['query', 'address'], 'must be 0x and 40 hexadecimal digits')
    const timeoutMs = context.settings.server.responseTimeoutMs * shareOfRequest
    const { result, ...rest } = await followTrail(context, chainid, address, { depth, timeoutMs })
    return { ...wrapResult(result), ...rest }
  },
  requireServedChain,
)
