// JSON-RPC client for the nodes of one chain: the first healthy node gets the calls, the next one gets those that
// failed. Our own code, because batching, incomplete responses and failover per call are most of it
// (decisions/write-our-own-json-rpc-client.md).
//
// 1. Every call ends: attempts are limited, and nothing is sent or waited for after the deadline.
// 2. The result is that of a node, or a Fault. Null, half a batch, a wrong id or another chain are not results.
// 3. If one node refuses a call, the others are tried before the refusal is returned.
import { Fault } from '#core/fault.ts'
import type { Clock } from '#runtime/clock.ts'
import type { RpcSettings } from '#runtime/settings/explorer.ts'
import { cleanUrls, FetchError, fetchBytes } from '../http-client.ts'
import type { RpcOutcome } from './batch-results.ts'
import { kindOf, type NodeErrorKind } from './node-errors.ts'
import {
  type Counts,
  createRpcEndpoint,
  type Post,
  type RpcCall,
  type RpcEndpoint,
  unusableAfter,
} from './rpc-endpoint.ts'

export type { RpcCall } from './rpc-endpoint.ts'

export interface RpcCallOptions {
  /** On the monotonic clock. */
  readonly untilMs?: number
  readonly signal?: AbortSignal
  /** The index of the node that is called first, if it is healthy. Default: the first healthy one. */
  readonly first?: number
  /** Do not wait for a node that is backing off. */
  readonly skipsBackoff?: boolean
  readonly attemptsMax?: number
  /** Return the CallFault of a failed call instead of throwing it. */
  readonly keepsFailures?: true
}

export interface RpcCounts extends Readonly<Counts> {
  /** Time during which at least one request was at a node. */
  readonly waitedMs: number
}

export interface Rpc {
  /** Outcomes in the order of the calls. Errors of nodes are outcomes, not exceptions. */
  call(calls: readonly RpcCall[], options?: RpcCallOptions): Promise<RpcOutcome[]>
  /** Results in the order of the calls, or a fault. */
  results(calls: readonly RpcCall[], options?: RpcCallOptions): Promise<unknown[]>
  counts(): RpcCounts
  /** The problem of each node; undefined if it is healthy. */
  health(): readonly RpcHealth[]
  /** Time until a node may be used; 0: now. */
  backoffRemainingMs(): number
  /** A client for the nodes with these indices in the configuration. */
  of(indices: readonly number[]): Rpc
}

export interface RpcHealth {
  readonly name: string
  readonly trouble: string | undefined
  /** The id of the chain that the node reported, if it is another one. */
  readonly otherChain?: string | undefined
}

export interface RpcOptions {
  readonly chain: string
  readonly rpc: readonly RpcSettings[]
  readonly clock: Clock
  /** Replaces HTTP in tests. */
  readonly post?: Post
  /** First backoff of a node; it doubles. */
  readonly backoffMs?: number
}

const attemptsPerEndpoint = 3
const attemptsMin = 5
/** If all nodes refuse connections, retries end after this time. */
const unreachableMaxMs = 1000
const attemptsOver = (endpoints: readonly RpcEndpoint[]): number =>
  Math.max(attemptsMin, endpoints.length * attemptsPerEndpoint)

export function openRpc({ chain, rpc, clock, post = postOverHttp, backoffMs = 250 }: RpcOptions): Rpc {
  const counts = { calls: 0, rounds: 0 }
  const waited = stopwatch(clock)
  // Waiting for a rate limit and decoding are not counted.
  const timed: Post = (address, options) => waited.during(() => post(address, options))
  const names = cleanUrls(rpc.map(({ url }) => url))
  const endpoints = rpc.map((settings, at) =>
    createRpcEndpoint({ name: names[at] ?? '', index: at, settings, chain, clock, counts, post: timed, backoffMs }),
  )
  return createClient(endpoints, clock, backoffMs, () => ({ ...counts, waitedMs: waited.ms() }))
}

const postOverHttp: Post = async (address, options) => (await fetchBytes(address, options)).bytes

function createClient(
  endpoints: readonly RpcEndpoint[],
  clock: Clock,
  backoffMs: number,
  counts: () => RpcCounts,
): Rpc {
  const call = (calls: readonly RpcCall[], options: RpcCallOptions = {}) =>
    calls.length === 0 ? Promise.resolve([]) : callEndpoints(endpoints, clock, backoffMs, calls, options)
  return {
    call,
    async results(calls, options) {
      const outcomes = await call(calls, options)
      return outcomes.map((outcome) => {
        if (outcome.is === 'result') return outcome.result
        const fault = new CallFault(outcome)
        if (options?.keepsFailures) return fault
        throw fault
      })
    },
    counts,
    health: () =>
      endpoints.map(({ name, trouble, otherChain }) => ({
        ...{ name, trouble: trouble() },
        ...(otherChain() !== undefined && { otherChain: otherChain() }),
      })),
    backoffRemainingMs: () => Math.min(...endpoints.map((endpoint) => endpoint.backoffRemainingMs())),
    of(indices) {
      const selected = endpoints.filter(({ index }) => indices.includes(index))
      return createClient(selected, clock, backoffMs, counts)
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
    first,
    skipsBackoff = false,
    attemptsMax = attemptsOver(endpoints),
  }: RpcCallOptions,
): Promise<RpcOutcome[]> {
  const reason = endpoints.map(({ trouble }) => trouble()).find(Boolean) ?? 'no node could be called in time'
  const outcomes: RpcOutcome[] = calls.map(() => ({ is: 'unusable', message: reason }))
  const refusedBy = new Set<RpcEndpoint>()
  const timedOut = new Set<RpcEndpoint>()
  let open = calls.map((_, at) => at)
  // Give up on a node after two timeouts.
  const noteTimeout = (endpoint: RpcEndpoint) => (timedOut.has(endpoint) ? refusedBy : timedOut).add(endpoint)
  // The error of a healthy node is the outcome; do not wait for others.
  const isAccepted = (at: number) => calls[at]?.acceptsError === true && outcomes[at]?.is === 'error'
  const unreachableUntilMs = clock.monotonicMs() + unreachableMaxMs
  for (let attempt = 0; attempt < attemptsMax && open.length > 0; attempt++) {
    const endpoint = chooseEndpoint(endpoints, refusedBy, first)
    if (!endpoint) break
    const waitMs = Math.max(endpoint.backoffRemainingMs(), 0)
    if (waitMs > 0 && (skipsBackoff || open.every(isAccepted))) break
    const nextMs = clock.monotonicMs() + waitMs
    if (nextMs > untilMs || (nextMs > unreachableUntilMs && endpoints.every(({ isUnreachable }) => isUnreachable())))
      break
    if (waitMs > 0) await clock.sleep(Math.ceil(waitMs), signal)
    if (signal?.aborted) throw cancelledFault()
    try {
      const results = await endpoint.call(
        open.map((at) => calls[at] as RpcCall),
        untilMs,
        signal,
      )
      open = open.filter((at, index) => !settle(outcomes, at, results[index] as RpcOutcome, endpoint))
    } catch (error) {
      if (!(error instanceof FetchError)) throw error
      if (signal?.aborted) throw cancelledFault()
      for (const at of open) settle(outcomes, at, unusableAfter(error), endpoint)
      // There was no time to call it; another node may be faster.
      if (error.failure === 'stopped') refusedBy.add(endpoint)
      if (error.failure === 'timeout') noteTimeout(endpoint)
      continue
    }
    const left = open.map((at) => outcomes[at] as RpcOutcome)
    if (left.some(isRateLimit)) endpoint.backOff('rate limit of the node reached')
    else if (left.some((outcome) => kindOf(outcome) === 'timeout')) noteTimeout(endpoint)
    else if (left.some((outcome, index) => isRetryable(outcome, calls[open[index] as number])))
      endpoint.backOff(describeOutcome(left[0]), backoffMs)
    else if (left.length > 0) refusedBy.add(endpoint)
  }
  return outcomes
}

/** Whether a retry at the same node may succeed. */
const isRetryable = (outcome: RpcOutcome, call: RpcCall | undefined): boolean =>
  outcome.is === 'unusable' || (outcome.is === 'error' && !call?.acceptsError && !isFinalRefusal(outcome))

const describeOutcome = (outcome: RpcOutcome | undefined): string =>
  outcome && outcome.is !== 'result' ? outcome.message : 'no result'

/** Records an outcome. True if the call is done. */
function settle(outcomes: RpcOutcome[], at: number, outcome: RpcOutcome, { name }: RpcEndpoint): boolean {
  const before = outcomes[at]
  // Keep an error of a node if a later attempt brings nothing.
  if (!(outcome.is === 'unusable' && before?.is === 'error'))
    outcomes[at] = outcome.is === 'result' ? outcome : { ...outcome, node: name }
  return outcome.is === 'result'
}

/** The first healthy node that has not refused; otherwise the one whose backoff ends first. */
function chooseEndpoint(
  endpoints: readonly RpcEndpoint[],
  refusedBy: ReadonlySet<RpcEndpoint>,
  first: number | undefined,
): RpcEndpoint | undefined {
  const left = endpoints.filter((endpoint) => !refusedBy.has(endpoint) && !endpoint.isRefused())
  const healthy = left.filter((endpoint) => endpoint.backoffRemainingMs() === 0)
  return (
    healthy.find(({ index }) => index === first) ??
    healthy[0] ??
    left.sort((a, b) => a.backoffRemainingMs() - b.backoffRemainingMs())[0]
  )
}

const cancelledFault = () => new Fault('explorer.node_unavailable', { detail: 'the request to the node was cancelled' })

const isRateLimit = (outcome: RpcOutcome): boolean => kindOf(outcome) === 'rate limit'

export const isUnknownMethod = (outcome: RpcOutcome): boolean => kindOf(outcome) === 'unknown method'

const isMissingState = (outcome: RpcOutcome): boolean => kindOf(outcome) === 'missing state'

/** A retry cannot succeed. */
export const isFinalRefusal = (outcome: RpcOutcome): boolean =>
  isUnknownMethod(outcome) || isMissingState(outcome) || kindOf(outcome) === 'range too large'

const kindsOfCall: ReadonlySet<CallFault['kind']> = new Set(['timeout', 'response too large', 'null', 'invalid'])

/** A call that failed at every node. */
export class CallFault extends Fault {
  readonly kind: NodeErrorKind | 'unusable' | 'null' | 'invalid' | undefined
  /** The node, the method and the problem. */
  readonly reason: string
  /** A retry cannot succeed. */
  readonly isFinal: boolean

  constructor(outcome: Exclude<RpcOutcome, { is: 'result' }>) {
    const { message, node } = outcome
    const code = isMissingState(outcome) ? 'explorer.not_archive' : 'explorer.node_unavailable'
    const reason = node === undefined || message.includes(node) ? message : `${node}: ${message}`
    const isFinal = isFinalRefusal(outcome)
    // The public message must not promise that a retry helps.
    const unsupported = isFinal && {
      message: 'No node of this chain supports a call that this request needs. See: tetrad chains',
    }
    super(code, {
      detail: reason,
      ...(code === 'explorer.node_unavailable' && (unsupported || { retryAfterMs: 5000 })),
    })
    this.reason = reason
    this.isFinal = isFinal
    this.kind = outcome.is === 'error' ? kindOf(outcome) : (outcome.reason ?? 'unusable')
  }

  /** The failure seems to concern only this call: other calls to the node may succeed. */
  get isOfCall(): boolean {
    return this.kind === undefined || kindsOfCall.has(this.kind)
  }
}

/** Measures the time during which any work runs, so that parallel requests count once. */
function stopwatch(clock: Clock) {
  let running = 0
  let sinceMs = 0
  let sumMs = 0
  return {
    async during<T>(work: () => Promise<T>): Promise<T> {
      if (running++ === 0) sinceMs = clock.monotonicMs()
      try {
        return await work()
      } finally {
        if (--running === 0) sumMs += clock.monotonicMs() - sinceMs
      }
    },
    ms: () => sumMs + (running > 0 ? clock.monotonicMs() - sinceMs : 0),
  }
}
