// JSON-RPC to the nodes of one chain: the best line that is well is asked first, what it could not answer goes to the
// next. Small and our own, because batching, half answers and per-call failover are the whole job (decisions/write-our-own-json-rpc-client.md).
//
// 1. Every call ends: attempts are counted, and nothing is sent or waited for beyond the deadline.
// 2. What leaves here is the node's own answer or a Fault. Null, half a batch, a wrong id or another chain are no answer.
// 3. A refusal by one node is passed on to the others before it is believed.
import { Fault } from '#core/fault.ts'
import type { Clock } from '#runtime/clock.ts'
import type { RpcSettings } from '#runtime/settings/explorer.ts'
import { cleanUrls, FetchError, fetchBytes } from '../http-client.ts'
import type { RpcOutcome } from './batch-results.ts'
import { kindOf, type NodeErrorKind } from './node-errors.ts'
import { type Counts, type Post, type RpcCall, RpcEndpoint, unusableAfter } from './rpc-endpoint.ts'

export type { RpcCall } from './rpc-endpoint.ts'

export interface RpcCallOptions {
  /** On the monotonic clock. */
  readonly untilMs?: number
  readonly signal?: AbortSignal
  /** There are others to ask: a node at rest is not waited for. */
  readonly skipsBackoff?: boolean
  readonly attemptsMax?: number
  /** A call that failed has its CallFault in place of a result; nothing is thrown. */
  readonly keepsFailures?: true
}

export interface RpcCounts extends Readonly<Counts> {
  /** Time during which at least one request was at a node: its share of ours. */
  readonly waitedMs: number
}

export interface Rpc {
  /** Outcomes in the order of the calls; never throws for what a node answers. */
  call(calls: readonly RpcCall[], options?: RpcCallOptions): Promise<RpcOutcome[]>
  /** Results in the order of the calls, or a fault. */
  results(calls: readonly RpcCall[], options?: RpcCallOptions): Promise<unknown[]>
  counts(): RpcCounts
  /** What is wrong with each line, in words; undefined: it is well. */
  health(): readonly { readonly name: string; readonly trouble: string | undefined }[]
  /** How long until one of them may be asked; 0: now. */
  backoffRemainingMs(): number
  /** The same, asked only of the nodes at these places of the list. */
  of(places: readonly number[]): Rpc
}

export interface RpcOptions {
  readonly chain: string
  readonly rpc: readonly RpcSettings[]
  readonly clock: Clock
  /** Replaced in tests; otherwise real HTTP. */
  readonly post?: Post
  /** First rest of a line that failed; it doubles. */
  readonly backoffMs?: number
}

const attemptsPerEndpoint = 3
const attemptsMin = 5
/** Where every node refuses connections, more tries than fit into this time only delay the error. */
const unreachableMaxMs = 1000
const attemptsOver = (endpoints: readonly RpcEndpoint[]): number =>
  Math.max(attemptsMin, endpoints.length * attemptsPerEndpoint)

export function openRpc({ chain, rpc, clock, post = overHttp, backoffMs = 250 }: RpcOptions): Rpc {
  const counts = { calls: 0, rounds: 0 }
  const waited = stopwatch(clock)
  // Neither the turn that a rate limit makes us wait for nor taking an answer apart is the node's time.
  const timed: Post = (address, options) => waited.during(() => post(address, options))
  const names = cleanUrls(rpc.map(({ url }) => url))
  const endpoints = rpc.map(
    (settings, at) => new RpcEndpoint(names[at] ?? '', settings, chain, clock, counts, timed, backoffMs),
  )
  return over(endpoints, clock, backoffMs, () => ({ ...counts, waitedMs: waited.ms() }))
}

const overHttp: Post = async (address, options) => (await fetchBytes(address, options)).bytes

function over(endpoints: readonly RpcEndpoint[], clock: Clock, backoffMs: number, counts: () => RpcCounts): Rpc {
  const call = (calls: readonly RpcCall[], options: RpcCallOptions = {}) =>
    calls.length === 0 ? Promise.resolve([]) : callEndpoints(endpoints, clock, backoffMs, calls, options)
  return {
    call,
    async results(calls, options) {
      const outcomes = await call(calls, options)
      return outcomes.map((outcome) => {
        if (outcome.is === 'result') return outcome.result
        const fault = faultOf(outcome)
        if (options?.keepsFailures) return fault
        throw fault
      })
    },
    counts,
    health: () => endpoints.map(({ name, trouble }) => ({ name, trouble })),
    backoffRemainingMs: () => Math.min(...endpoints.map((endpoint) => endpoint.backoffRemainingMs())),
    of(indices) {
      const some = endpoints.filter((_, index) => indices.includes(index))
      return over(some, clock, backoffMs, counts)
    },
  }
}

async function callEndpoints(
  endpoints: readonly RpcEndpoint[],
  clock: Clock,
  backoffMs: number,
  calls: readonly RpcCall[],
  {
    untilMs = Number.POSITIVE_INFINITY,
    signal,
    skipsBackoff: impatient = false,
    attemptsMax = attemptsOver(endpoints),
  }: RpcCallOptions,
): Promise<RpcOutcome[]> {
  const reason = endpoints.find(({ trouble }) => trouble !== undefined)?.trouble ?? 'no node could be asked in time'
  const outcomes: RpcOutcome[] = calls.map(() => ({ is: 'unusable', message: reason }))
  const refusedBy = new Set<RpcEndpoint>()
  const timedOut = new Set<RpcEndpoint>()
  let open = calls.map((_, at) => at)
  // A node that was too slow twice is so a third time.
  const noteTimeout = (endpoint: RpcEndpoint) => (timedOut.has(endpoint) ? refusedBy : timedOut).add(endpoint)
  // A node that is well has said no: that is not worth waiting for one that is not.
  const isTold = (at: number) => calls[at]?.acceptsError === true && outcomes[at]?.is === 'error'
  const unreachableUntilMs = clock.monotonicMs() + unreachableMaxMs
  for (let attempt = 0; attempt < attemptsMax && open.length > 0; attempt++) {
    const endpoint = best(endpoints, refusedBy)
    if (!endpoint) break
    const waitMs = Math.max(endpoint.backoffRemainingMs(), 0)
    if (waitMs > 0 && (impatient || open.every(isTold))) break
    const nextMs = clock.monotonicMs() + waitMs
    if (nextMs > untilMs || (nextMs > unreachableUntilMs && endpoints.every(({ isUnreachable }) => isUnreachable)))
      break
    if (waitMs > 0) await clock.sleep(Math.ceil(waitMs), signal)
    if (signal?.aborted) throw stopped()
    try {
      const answered = await endpoint.call(
        open.map((at) => calls[at] as RpcCall),
        untilMs,
        signal,
      )
      open = open.filter((at, index) => !settle(outcomes, at, answered[index] as RpcOutcome, endpoint))
    } catch (error) {
      if (!(error instanceof FetchError)) throw error
      if (signal?.aborted) throw stopped()
      for (const at of open) settle(outcomes, at, unusableAfter(error), endpoint)
      // It was not asked, for want of time: another may need less.
      if (error.failure === 'stopped') refusedBy.add(endpoint)
      if (error.failure === 'timeout') noteTimeout(endpoint)
      continue
    }
    const left = open.map((at) => outcomes[at] as RpcOutcome)
    if (left.some(isRateLimit)) endpoint.backOff('the node limits the rate of calls')
    else if (left.some((one) => kindOf(one) === 'timeout')) noteTimeout(endpoint)
    else if (left.some((one, index) => isRetryable(one, calls[open[index] as number])))
      endpoint.backOff(describeOutcome(left[0]), backoffMs)
    else if (left.length > 0) refusedBy.add(endpoint)
  }
  return outcomes
}

/** Whether the same node may answer better in a moment. */
const isRetryable = (outcome: RpcOutcome, call: RpcCall | undefined): boolean =>
  outcome.is === 'unusable' || (outcome.is === 'error' && !call?.acceptsError && !isFinalRefusal(outcome))

const describeOutcome = (outcome: RpcOutcome | undefined): string =>
  outcome && outcome.is !== 'result' ? outcome.message : 'no answer'

/** True when there is nothing more to ask. */
function settle(outcomes: RpcOutcome[], at: number, outcome: RpcOutcome, { name }: RpcEndpoint): boolean {
  const before = outcomes[at]
  // A clear refusal says more than a later silence.
  if (!(outcome.is === 'unusable' && before?.is === 'error'))
    outcomes[at] = outcome.is === 'result' ? outcome : { ...outcome, node: name }
  return outcome.is === 'result'
}

/** The first that is well and has not refused; otherwise the one whose rest ends soonest. */
function best(endpoints: readonly RpcEndpoint[], refusedBy: ReadonlySet<RpcEndpoint>): RpcEndpoint | undefined {
  const left = endpoints.filter((endpoint) => !refusedBy.has(endpoint) && !endpoint.isRefused)
  return (
    left.find((endpoint) => endpoint.backoffRemainingMs() === 0) ??
    left.sort((a, b) => a.backoffRemainingMs() - b.backoffRemainingMs())[0]
  )
}

const stopped = () => new Fault('explorer.node_unavailable', { detail: 'the request to the node was given up' })

export const isRateLimit = (outcome: RpcOutcome): boolean => kindOf(outcome) === 'rate limit'

/** The node does not have this method at all. */
export const isUnknownMethod = (outcome: RpcOutcome): boolean => kindOf(outcome) === 'unknown method'

export const isMissingState = (outcome: RpcOutcome): boolean => kindOf(outcome) === 'missing state'

/** The same call is refused again, however often it is repeated. */
export const isFinalRefusal = (outcome: RpcOutcome): boolean =>
  isUnknownMethod(outcome) || isMissingState(outcome) || kindOf(outcome) === 'range too large'

/** A call that failed at every node. */
export class CallFault extends Fault {
  readonly kind: NodeErrorKind | 'unusable' | undefined

  constructor(outcome: Exclude<RpcOutcome, { is: 'result' }>) {
    const { message, node } = outcome
    const code = isMissingState(outcome) ? 'explorer.not_archive' : 'explorer.node_unavailable'
    super(code, {
      detail: node === undefined || message.includes(node) ? message : `${node}: ${message}`,
      ...(code === 'explorer.node_unavailable' && { retryAfterMs: 5000 }),
    })
    this.kind = outcome.is === 'error' ? kindOf(outcome) : outcome.isTimeout ? 'timeout' : 'unusable'
  }

  /** The call itself is the reason, as far as can be seen: another call to the same node may succeed. */
  get isOfCall(): boolean {
    return this.kind === undefined || this.kind === 'timeout' || this.kind === 'response too large'
  }
}

export const faultOf = (outcome: Exclude<RpcOutcome, { is: 'result' }>): CallFault => new CallFault(outcome)

/** Sums the time during which anything at all is under way, so that parallel requests are not counted twice. */
function stopwatch(clock: Clock) {
  let underWay = 0
  let sinceMs = 0
  let sumMs = 0
  return {
    async during<T>(work: () => Promise<T>): Promise<T> {
      if (underWay++ === 0) sinceMs = clock.monotonicMs()
      try {
        return await work()
      } finally {
        if (--underWay === 0) sumMs += clock.monotonicMs() - sinceMs
      }
    },
    ms: () => sumMs + (underWay > 0 ? clock.monotonicMs() - sinceMs : 0),
  }
}
