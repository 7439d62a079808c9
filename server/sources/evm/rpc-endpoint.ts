// Sends JSON-RPC calls to one node for rpc.ts, which chooses among the nodes of a chain.
//
// 1. The node never receives more than `perSecond` calls within a second (call-quota.ts).
// 2. A node is used only after it has reported the right chain id. After a failure, the id is checked again.
// 3. A node that failed is not used for a while (node-backoff.ts).
// 4. A request that is too large for the node, or takes too long, is repeated with half as many calls (batch-size.ts).
// 5. Whole blocks are requested four at a time, or more if their results are small: receiving a large response delays
//    other requests (decisions/decode-large-node-answers-on-a-thread.md).

import type { Clock } from '#runtime/clock.ts'
import type { RpcSettings } from '#runtime/settings/explorer.ts'
import { FetchError, type FetchOptions } from '../http-client.ts'
import type { DecodableCall, RpcOutcome } from './batch-results.ts'
import { BatchSize } from './batch-size.ts'
import { CallQuota } from './call-quota.ts'
import { decodeBatch, inlineBytesMax } from './decoder.ts'
import { isWholeBlock, type ResultKind } from './large-results.ts'
import { NodeBackoff } from './node-backoff.ts'
import { kindOf } from './node-errors.ts'

export interface RpcCall extends DecodableCall {
  readonly params: readonly unknown[]
  /** The options of callTracer are added as the last parameter, with a time limit that ends before the request's. */
  readonly isTraced?: true
  /** An error is a valid outcome: do not retry. */
  readonly acceptsError?: true
}

/** Returns bytes, so that large responses can be decoded on another thread. */
export type Post = (address: string, options: FetchOptions) => Promise<Uint8Array | string>

export interface Counts {
  calls: number
  /** Requests sent, each with one call or a batch. */
  rounds: number
}

/** Larger responses are refused. */
const bytesMax = 256 * 1024 * 1024
/** Whole blocks in the first request, and in every request if their results are large (5). */
const wholeBlocksMin = 4
/** Of a response with whole blocks. Half of what is decoded on this thread, because sizes vary. */
const wholeBytesGoal = inlineBytesMax / 2
/** With less time than this, a timeout is not a failure of the node. */
const fairTimeoutMs = 1000
const wrongChainBackoffMs = 60_000

export type RpcEndpoint = ReturnType<typeof createRpcEndpoint>

interface RpcEndpointOptions {
  readonly name: string
  /** In the configuration. */
  readonly index: number
  readonly settings: RpcSettings
  readonly chain: string
  readonly clock: Clock
  readonly counts: Counts
  readonly post: Post
  /** First backoff; it doubles. */
  readonly backoffMs: number
}

export function createRpcEndpoint({
  name,
  index,
  settings,
  chain,
  clock,
  counts,
  post,
  backoffMs,
}: RpcEndpointOptions) {
  const { batchMax, perSecond } = settings
  const batch = new BatchSize(batchMax)
  /** Blocks, traces and receipts differ in size. */
  const wholeBatches = new Map<ResultKind['as'], BatchSize>()
  const quota = new CallQuota(name, perSecond, clock)
  const backoff = new NodeBackoff(clock, backoffMs)
  let nextId = 1
  /** Rule 2: since the last failure, the node has reported the right chain id. */
  let isVerified = false
  /** The chain that the node reported, if it is another one. */
  let otherChain: string | undefined

  const isRefused = (): boolean => otherChain !== undefined && backoff.remainingMs > 0

  function backOff(reason: string, forMs?: number): void {
    isVerified = false
    backoff.begin(reason, forMs)
  }

  function sizeFor(next: RpcCall | undefined): BatchSize {
    if (!next?.resultKind || !isWholeBlock(next.resultKind)) return batch
    return wholeBatches.getOrInsertComputed(
      next.resultKind.as,
      () => new BatchSize(batchMax, Math.min(wholeBlocksMin, batchMax)),
    )
  }

  const partMax = (size: BatchSize): number => Math.min(batch.now, size.now, perSecond > 0 ? perSecond : size.now)

  /** Outcomes of the first calls of this part. Undefined: none; the next request is smaller. */
  async function sendSized(
    part: readonly RpcCall[],
    size: BatchSize,
    untilMs: number,
    signal?: AbortSignal,
  ): Promise<readonly RpcOutcome[] | undefined> {
    const isAlone = part.length === 1
    try {
      const sent = await send(part, untilMs, signal)
      if (!sent) {
        batch.refuse(part.length)
        return undefined
      }
      const { outcomes, bytes } = sent
      const tooMuch = isAlone ? -1 : outcomes.findIndex(isTooMuch)
      if (tooMuch < 0) {
        size.succeed()
        if (outcomes.every(({ is }) => is === 'result')) size.measure(part.length, bytes, wholeBytesGoal)
        return outcomes
      }
      size.shrink(part.length)
      return outcomes.slice(0, tooMuch)
    } catch (error) {
      if (isAlone || !(error instanceof FetchError) || !isTooMuchAtOnce(error)) throw error
      size.shrink(part.length)
      return undefined
    }
  }

  async function verify(untilMs: number, signal?: AbortSignal): Promise<void> {
    const sent = await send([{ method: 'eth_chainId', params: [] }], untilMs, signal)
    const outcome = sent?.outcomes[0]
    if (outcome?.is !== 'result') {
      throw new FetchError('text', `${name} did not return its chain id: ${outcome?.message ?? 'no result'}`)
    }
    const reported = quantityText(outcome.result)
    otherChain = reported === chain ? undefined : reported
    if (otherChain !== undefined) {
      const reason = `${name} is on chain ${reported}, not ${chain}: refused; correct this URL or the chain it is configured for`
      backOff(reason, wrongChainBackoffMs)
      throw new FetchError('address', reason)
    }
    isVerified = true
  }

  /** Undefined if the node refuses a batch of this size. */
  async function send(
    calls: readonly RpcCall[],
    untilMs: number,
    signal?: AbortSignal,
  ): Promise<{ readonly outcomes: readonly RpcOutcome[]; readonly bytes: number } | undefined> {
    const endTransit = await quota.take(calls.length, untilMs, signal)
    const firstId = nextId
    nextId += calls.length
    const requests = calls.map(({ method, params, isTraced }, at) => ({
      jsonrpc: '2.0',
      id: firstId + at,
      method,
      params: isTraced ? [...params, tracerOf(settings)] : params,
    }))
    const body = JSON.stringify(calls.length === 1 ? requests[0] : requests)
    const response = await sendBody(body, calls.length, untilMs, signal)
    endTransit()
    const outcomes = await decodeBatch(response, firstId, calls)
    if (outcomes === 'not JSON') throw new FetchError('text', `${name} did not return JSON`)
    return outcomes === 'batch refused' ? undefined : { outcomes, bytes: response.length }
  }

  async function sendBody(
    body: string,
    calls: number,
    untilMs: number,
    signal?: AbortSignal,
  ): Promise<Uint8Array | string> {
    const leftMs = untilMs - clock.monotonicMs()
    if (leftMs <= 0) throw new FetchError('stopped', `no time left to call ${name}`)
    counts.calls += calls
    counts.rounds += 1
    const timeoutMs = Math.ceil(Math.min(settings.timeoutMs, leftMs))
    try {
      return await post(settings.url, {
        method: 'POST',
        isQuery: true,
        body,
        headers: { 'content-type': 'application/json', accept: 'application/json' },
        timeoutMs,
        bytesMax,
        label: name,
        ...(signal && { signal }),
      })
    } catch (error) {
      const isOurDeadline =
        error instanceof FetchError &&
        error.failure === 'timeout' &&
        timeoutMs < Math.min(settings.timeoutMs, fairTimeoutMs)
      throw isOurDeadline ? new FetchError('stopped', error.message) : error
    }
  }

  return {
    name,
    index,
    trouble: () => backoff.trouble,
    /** The last connection was refused or failed. */
    isUnreachable: () => backoff.isUnreachable,
    /** On the wrong chain: do not wait for it. */
    isRefused,
    otherChain: () => otherChain,
    /** Time until it may be used again; 0: now. */
    backoffRemainingMs: () => backoff.remainingMs,
    /** Do not use the node for a while. */
    backOff,
    /** Outcomes in the order of the calls. Throws FetchError if no call reached the node. */
    async call(calls: readonly RpcCall[], untilMs: number, signal?: AbortSignal): Promise<RpcOutcome[]> {
      const outcomes: RpcOutcome[] = []
      try {
        if (!isVerified) await verify(untilMs, signal)
        while (outcomes.length < calls.length) {
          const size = sizeFor(calls[outcomes.length])
          const part = calls.slice(outcomes.length, outcomes.length + partMax(size))
          const partOutcomes = await sendSized(part, size, untilMs, signal)
          if (partOutcomes) outcomes.push(...partOutcomes)
        }
        backoff.end()
        return outcomes
      } catch (error) {
        if (!(error instanceof FetchError) || error.failure === 'stopped') throw error
        // Keep the outcomes from before the failure; another node gets the rest.
        if (!isRefused()) {
          isVerified = false
          backoff.beginAfter(error)
        }
        if (outcomes.length === 0) throw error
        return calls.map((_, at) => outcomes[at] ?? unusableAfter(error))
      }
    },
  }
}

/**
 * By default geth stops after 5 s. Let it stop shortly before the request ends, so that it reports which transaction.
 */
const tracerOf = ({ timeoutMs }: RpcSettings): object => {
  const seconds = Math.max(1, Math.floor((0.8 * timeoutMs) / 1000))
  return { tracer: 'callTracer', timeout: `${seconds}s` }
}

const isTooMuch = (outcome: RpcOutcome): boolean => {
  const kind = kindOf(outcome)
  return kind === 'response too large' || kind === 'timeout'
}

/** HTTP statuses for a request that is too large or took too long: besu returns 408, geth 413, gateways 504 and 524. */
const tooMuchStatuses: ReadonlySet<number | undefined> = new Set([408, 413, 504, 524])

const isTooMuchAtOnce = ({ failure, status }: FetchError): boolean =>
  failure === 'timeout' || failure === 'size' || (failure === 'status' && tooMuchStatuses.has(status))

/** The outcome of each call of a failed request. */
export const unusableAfter = (error: FetchError): RpcOutcome => ({
  is: 'unusable',
  message: error.message,
  ...(isTooMuchAtOnce(error) && { reason: 'timeout' }),
})

const quantityText = (value: unknown): string =>
  typeof value === 'string' && /^0x[0-9a-f]{1,16}$/i.test(value) ? BigInt(value).toString() : 'unknown'
