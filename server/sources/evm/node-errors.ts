// What the errors of execution clients mean. Clients share few codes and no texts. test/simulator/known-errors.ts lists
// the known errors with their origin, and a test checks every one.
import type { RpcOutcome } from './batch-results.ts'

/** What to do about an error follows from its kind. An error of no kind may pass when the call is repeated. */
export type NodeErrorKind =
  /** Send fewer calls in one request. */
  | 'batch too large'
  /** Send fewer calls in one request: their results together are too large. */
  | 'response too large'
  /** Use a shorter range of blocks. */
  | 'range too large'
  /** The node gave up at its own time limit. */
  | 'timeout'
  /** The node does not offer the method. */
  | 'unknown method'
  /** State or history of that block was pruned. */
  | 'missing state'
  | 'rate limit'
  /** The node does not know the block or the transaction: not yet, or not any more. */
  | 'not found'

/** The first that matches decides. Codes come last: clients use -32005 for several limits. */
const rules: readonly (readonly [NodeErrorKind, { readonly text?: RegExp; readonly codes?: readonly number[] }])[] = [
  [
    'batch too large',
    { text: /batch (too large|limit \d+ exceeded|size limit|request was too large)|max batch size|^batched requests/i },
  ],
  ['response too large', { text: /response (too large|is too big|was too large)|^MaxBatchResponseBodySize/i }],
  ['range too large', { text: /range.{0,20}too large|range exceeds|exceeds? maximum block range/i }],
  ['timeout', { text: /execution timeout|request timed out|\(timeout =|due to enabled timeout|^timeout expired/i }],
  ['unknown method', { text: /^the method .* (is disabled|must be authenticated)|method not enabled/i }],
  ['unknown method', { text: /method.{0,80}(not found|not supported|not available|does not exist|not whitelisted)/i }],
  ['unknown method', { text: /method.{0,80}disabled|un(supported|known) method/i }],
  ['missing state', { text: /missing trie node|no state available|node .*missing (from the db|hash)|node missing/i }],
  ['missing state', { text: /state.{0,80}(not available|unavailable|pruned|not found)|historical state/i }],
  ['missing state', { text: /pruned|old data not available|archive/i }],
  ['rate limit', { text: /rate.?limit|too many|limit exceeded|capacity|throughput|^server is busy/i }],
  ['not found', { text: /(block|header|transaction)\b.{0,80}not found|unknown block|cannot find/i }],
  ['unknown method', { codes: [-32601, -32604, -32004] }],
  ['missing state', { codes: [4444] }],
  ['rate limit', { codes: [429, -32005] }],
]

/** Undefined for an error without a special meaning. */
export const nodeErrorKind = (code: number, text: string): NodeErrorKind | undefined =>
  rules.find(([, rule]) => rule.text?.test(text) || rule.codes?.includes(code))?.[0]

/** The kind of an outcome, whose message starts with the method. */
export const kindOf = (outcome: RpcOutcome): NodeErrorKind | undefined =>
  outcome.is === 'error' ? nodeErrorKind(outcome.code, outcome.message.replace(/^\w+: /, '')) : undefined
