// Calls the configured node about a trade. A result counts only if the node is on the right chain and follows it.
import { formatAgeOf } from '#core/age.ts'
import { Fault } from '#core/fault.ts'
import type { Clock } from '#runtime/clock.ts'
import type { Log } from '#runtime/log.ts'
import type { FxSettings } from '#runtime/settings/fx.ts'
import type { RpcOutcome } from '#sources/evm/batch-results.ts'
import { openRpc, type RpcCall } from '#sources/evm/rpc.ts'

export interface NodeContext {
  readonly settings: { readonly fx: FxSettings }
  readonly clock: Clock
  readonly log: Pick<Log, 'warn'>
}

const timeoutMs = 5000
/** A node may reach its rate limit once. */
const attemptsMax = 2

const isQuantity = (value: unknown): value is string => typeof value === 'string' && /^0x[0-9a-f]{1,13}$/i.test(value)

/** `calls` gets the number of the newest block. Throws `fx.node_unavailable` if the node cannot be used. */
export async function callAtHead(
  context: NodeContext,
  calls: (block: string) => readonly RpcCall[],
  signal?: AbortSignal,
): Promise<RpcOutcome[]> {
  const { clock, settings } = context
  const { chainId, rpcUrl: url, rpcHeadMaxAgeMs } = settings.fx
  const rpc = openRpc({ chain: String(chainId), rpc: [{ url, perSecond: 0, batchMax: 10, timeoutMs }], clock })
  const options = { untilMs: clock.monotonicMs() + timeoutMs, attemptsMax, ...(signal && { signal }) }
  const [chain, head] = await rpc.call(
    [
      { method: 'eth_chainId', params: [] },
      { method: 'eth_getBlockByNumber', params: ['latest', false] },
    ],
    options,
  )
  const found = chain?.is === 'result' ? chain.result : undefined
  if (!isQuantity(found)) throw nodeUnavailable(context, textOf(chain) ?? 'the node returned no chain id')
  if (Number(found) !== chainId) throw nodeUnavailable(context, `the node is on chain ${Number(found)}, not ${chainId}`)
  const { number, timestamp } = (head?.is === 'result' ? head.result : {}) as { number?: unknown; timestamp?: unknown }
  if (!isQuantity(number) || !isQuantity(timestamp))
    throw nodeUnavailable(context, textOf(head) ?? 'the newest block of the node has no number or time')
  const ageMs = clock.now() - Number(timestamp) * 1000
  if (rpcHeadMaxAgeMs > 0 && ageMs > rpcHeadMaxAgeMs)
    throw nodeUnavailable(context, `the newest block of the node is ${formatAgeOf(ageMs)} (fx.rpcHeadMaxAgeMs)`)
  return rpc.call(calls(number), options)
}

const textOf = (outcome: RpcOutcome | undefined): string | undefined =>
  outcome && outcome.is !== 'result' ? outcome.message : undefined

/** The reason goes to the log only: it may contain the address of the node. */
export function nodeUnavailable({ log }: Pick<NodeContext, 'log'>, reason: string): Fault {
  log.warn({ reason }, 'a trade could not be checked with the node')
  return new Fault('fx.node_unavailable', { retryAfterMs: 2000 })
}
