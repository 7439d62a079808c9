// JSON-RPC to the nodes of one chain: the best line that is well is asked first, what it could not answer goes to the
// next. Small and our own, because batching, half answers and per-call failover are the whole job (decision 0019).
//
// 1. Every call ends: attempts are counted, and nothing is sent or waited for beyond the deadline.
// 2. What leaves here is the node's own answer or a Fault. Null, half a batch, a wrong id or another chain are no answer.
// 3. A refusal by one node is passed on to the others before it is believed.
import { Fault } from '#core/fault.ts'
import type { RpcSettings } from '#core/settings/explorer.ts'
import type { Clock } from '../clock.ts'
import { cleanUrls, FetchError, fetchBytes } from '../fetch.ts'
import { type Counts, Line, type Post, type RpcCall, unusableAfter } from './line.ts'
import { kindOf, type NodeErrorKind } from './node-errors.ts'
import type { RpcOutcome } from './outcomes.ts'

export type { RpcCall } from './line.ts'

export interface AskOptions {
  /** On the monotonic clock. */
  readonly untilMs?: number
  readonly signal?: AbortSignal
  /** There are others to ask: a node at rest is not waited for. */
  readonly impatient?: boolean
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
  ask(calls: readonly RpcCall[], options?: AskOptions): Promise<RpcOutcome[]>
  /** Results in the order of the calls, or a fault. */
  results(calls: readonly RpcCall[], options?: AskOptions): Promise<unknown[]>
  counts(): RpcCounts
  /** What is wrong with each line, in words; undefined: it is well. */
  health(): readonly { readonly name: string; readonly trouble: string | undefined }[]
  /** How long until one of them may be asked; 0: now. */
  restingMs(): number
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
  readonly restMs?: number
}

const attemptsPerLine = 3
const attemptsMin = 5
/** Where every node refuses connections, more tries than fit into this time only delay the error. */
const unreachableMaxMs = 1000
const attemptsOver = (lines: readonly Line[]): number => Math.max(attemptsMin, lines.length * attemptsPerLine)

export function openRpc({ chain, rpc, clock, post = overHttp, restMs = 250 }: RpcOptions): Rpc {
  const counts = { calls: 0, rounds: 0 }
  const waited = stopwatch(clock)
  // Neither the turn that a rate limit makes us wait for nor taking an answer apart is the node's time.
  const timed: Post = (address, options) => waited.during(() => post(address, options))
  const names = cleanUrls(rpc.map(({ url }) => url))
  const lines = rpc.map((settings, at) => new Line(names[at] ?? '', settings, chain, clock, counts, timed, restMs))
  return over(lines, clock, restMs, () => ({ ...counts, waitedMs: waited.ms() }))
}

const overHttp: Post = async (address, options) => (await fetchBytes(address, options)).bytes

function over(lines: readonly Line[], clock: Clock, restMs: number, counts: () => RpcCounts): Rpc {
  const ask = (calls: readonly RpcCall[], options: AskOptions = {}) =>
    calls.length === 0 ? Promise.resolve([]) : askLines(lines, clock, restMs, calls, options)
  return {
    ask,
    async results(calls, options) {
      const outcomes = await ask(calls, options)
      return outcomes.map((outcome) => {
        if (outcome.is === 'result') return outcome.result
        const fault = faultOf(outcome)
        if (options?.keepsFailures) return fault
        throw fault
      })
    },
    counts,
    health: () => lines.map(({ name, trouble }) => ({ name, trouble })),
    restingMs: () => Math.min(...lines.map((line) => line.restingMs())),
    of(places) {
      const some = lines.filter((_, place) => places.includes(place))
      return over(some, clock, restMs, counts)
    },
  }
}

async function askLines(
  lines: readonly Line[],
  clock: Clock,
  restMs: number,
  calls: readonly RpcCall[],
  { untilMs = Number.POSITIVE_INFINITY, signal, impatient = false, attemptsMax = attemptsOver(lines) }: AskOptions,
): Promise<RpcOutcome[]> {
  const words = lines.find(({ trouble }) => trouble !== undefined)?.trouble ?? 'no node could be asked in time'
  const outcomes: RpcOutcome[] = calls.map(() => ({ is: 'unusable', words }))
  const refusedBy = new Set<Line>()
  const timedOut = new Set<Line>()
  let open = calls.map((_, at) => at)
  // A node that was too slow twice is so a third time.
  const noteTimeout = (line: Line) => (timedOut.has(line) ? refusedBy : timedOut).add(line)
  // A node that is well has said no: that is not worth waiting for one that is not.
  const isTold = (at: number) => calls[at]?.errorIsAnswer === true && outcomes[at]?.is === 'error'
  const unreachableUntilMs = clock.monotonicMs() + unreachableMaxMs
  for (let attempt = 0; attempt < attemptsMax && open.length > 0; attempt++) {
    const line = best(lines, refusedBy)
    if (!line) break
    const waitMs = Math.max(line.restingMs(), 0)
    if (waitMs > 0 && (impatient || open.every(isTold))) break
    const nextMs = clock.monotonicMs() + waitMs
    if (nextMs > untilMs || (nextMs > unreachableUntilMs && lines.every(({ isUnreachable }) => isUnreachable))) break
    if (waitMs > 0) await clock.sleep(Math.ceil(waitMs), signal)
    if (signal?.aborted) throw stopped()
    try {
      const answered = await line.ask(
        open.map((at) => calls[at] as RpcCall),
        untilMs,
        signal,
      )
      open = open.filter((at, index) => !settle(outcomes, at, answered[index] as RpcOutcome, line))
    } catch (error) {
      if (!(error instanceof FetchError)) throw error
      if (signal?.aborted) throw stopped()
      for (const at of open) settle(outcomes, at, unusableAfter(error), line)
      // It was not asked, for want of time: another may need less.
      if (error.failure === 'stopped') refusedBy.add(line)
      if (error.failure === 'timeout') noteTimeout(line)
      continue
    }
    const left = open.map((at) => outcomes[at] as RpcOutcome)
    if (left.some(isRateLimit)) line.rest('the node limits the rate of calls')
    else if (left.some((one) => kindOf(one) === 'timeout')) noteTimeout(line)
    else if (left.some((one, index) => mayPass(one, calls[open[index] as number]))) line.rest(wordsOf(left[0]), restMs)
    else if (left.length > 0) refusedBy.add(line)
  }
  return outcomes
}

/** Whether the same node may answer better in a moment. */
const mayPass = (outcome: RpcOutcome, call: RpcCall | undefined): boolean =>
  outcome.is === 'unusable' || (outcome.is === 'error' && !call?.errorIsAnswer && !isFinalRefusal(outcome))

const wordsOf = (outcome: RpcOutcome | undefined): string =>
  outcome && outcome.is !== 'result' ? outcome.words : 'no answer'

/** True when there is nothing more to ask. */
function settle(outcomes: RpcOutcome[], at: number, outcome: RpcOutcome, { name }: Line): boolean {
  const before = outcomes[at]
  // A clear refusal says more than a later silence.
  if (!(outcome.is === 'unusable' && before?.is === 'error'))
    outcomes[at] = outcome.is === 'result' ? outcome : { ...outcome, node: name }
  return outcome.is === 'result'
}

/** The first that is well and has not refused; otherwise the one whose rest ends soonest. */
function best(lines: readonly Line[], refusedBy: ReadonlySet<Line>): Line | undefined {
  const left = lines.filter((line) => !refusedBy.has(line) && !line.refused)
  return left.find((line) => line.restingMs() === 0) ?? left.sort((a, b) => a.restingMs() - b.restingMs())[0]
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
    const { words, node } = outcome
    const code = isMissingState(outcome) ? 'explorer.not_archive' : 'explorer.node_unavailable'
    super(code, {
      detail: node === undefined || words.includes(node) ? words : `${node}: ${words}`,
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
