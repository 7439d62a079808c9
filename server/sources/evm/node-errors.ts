// What the errors of execution clients mean. Clients share few codes and no texts, so the known ones are listed here
// with their origin. A test checks every line.
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

/**
 * Client, code, kind, text and where the client's source defines it. Gateways in front of nodes have no public source:
 * their lines are wordings that several of them use.
 */
export const knownErrors: readonly (readonly [string, number, NodeErrorKind, string, string])[] = [
  ['geth', -32600, 'batch too large', 'batch too large', 'rpc/errors.go'],
  [
    'erigon',
    -32600,
    'batch too large',
    'batch limit 100 exceeded (can increase by --rpc.batch.limit)',
    'rpc/handler.go',
  ],
  ['nethermind', -32005, 'batch too large', 'Batch size limit exceeded', 'JsonRpcProcessor.cs'],
  ['besu', -32005, 'batch too large', 'Number of requests exceeds max batch size', 'RpcErrorType.java'],
  ['reth', -32010, 'batch too large', 'The batch request was too large', 'jsonrpsee types/src/error.rs'],
  [
    'reth',
    -32005,
    'batch too large',
    'Batched requests are not supported by this server',
    'jsonrpsee types/src/error.rs',
  ],
  ['geth', -32003, 'response too large', 'response too large', 'rpc/errors.go'],
  ['reth', -32008, 'response too large', 'Response is too big', 'jsonrpsee types/src/error.rs'],
  ['reth', -32011, 'response too large', 'The batch response was too large', 'jsonrpsee types/src/error.rs'],
  ['nethermind', -32005, 'response too large', 'MaxBatchResponseBodySize of 32768KB exceeded', 'JsonRpcProcessor.cs'],
  ['geth', -32602, 'range too large', 'exceed maximum block range 10000', 'eth/filters/filter.go'],
  [
    'erigon',
    -32000,
    'range too large',
    'query block range exceeds server limit, narrow your filter',
    'eth_receipts.go',
  ],
  ['reth', -32602, 'range too large', 'Block range too large; currently limited to 100 blocks', 'rpc/src/trace.rs'],
  ['besu', -32005, 'range too large', 'Requested range exceeds maximum RPC range limit', 'RpcErrorType.java'],
  ['geth', -32000, 'timeout', 'execution timeout', 'eth/tracers/api.go'],
  ['geth', -32002, 'timeout', 'request timed out', 'rpc/errors.go'],
  ['erigon', -32000, 'timeout', 'execution aborted (timeout = 5s)', 'rpc/jsonrpc/trace_filtering.go'],
  ['reth', -32000, 'timeout', 'execution aborted (timeout = 10s)', 'rpc-eth-types/src/error/mod.rs'],
  ['nethermind', -32016, 'timeout', 'trace_block request was canceled due to enabled timeout.', 'JsonRpcService.cs'],
  ['besu', -32603, 'timeout', 'Timeout expired', 'RpcErrorType.java'],
  ['geth', -32601, 'unknown method', 'the method trace_block does not exist/is not available', 'rpc/errors.go'],
  ['erigon', -32601, 'unknown method', 'the method trace_block does not exist/is not available', 'rpc/errors.go'],
  ['nethermind', -32601, 'unknown method', 'the method trace_x does not exist/is not available', 'ErrorMessages.cs'],
  ['nethermind', -32600, 'unknown method', "The method 'trace_block' must be authenticated.", 'JsonRpcService.cs'],
  [
    ...(['nethermind', -32600, 'unknown method'] as const),
    "The method 'trace_block' is found but the namespace 'trace' is disabled for http://localhost:8545.",
    'JsonRpcService.cs',
  ],
  [
    ...(['nethermind', -32600, 'unknown method'] as const),
    "The method 'trace_block' is found in namespace 'trace' for http://localhost:8545' but is disabled for Http.",
    'JsonRpcService.cs',
  ],
  ['reth', -32601, 'unknown method', 'Method not found', 'jsonrpsee types/src/error.rs'],
  ['besu', -32601, 'unknown method', 'Method not found', 'RpcErrorType.java'],
  ['besu', -32604, 'unknown method', 'Method not enabled', 'RpcErrorType.java'],
  ['gateway', -32000, 'unknown method', 'rpc method is not whitelisted', 'common wording'],
  ['geth', -32000, 'missing state', 'missing trie node 0a1b (path ) state 0x0a1b is not available', 'trie/errors.go'],
  ['geth', -32000, 'missing state', 'historical state 0a1b is not available', 'triedb/pathdb/reader.go'],
  ['geth', -32000, 'missing state', 'required historical state unavailable (reexec=128)', 'eth/state_accessor.go'],
  ['geth', 4444, 'missing state', 'pruned history unavailable', 'core/history/historymode.go'],
  [
    'erigon',
    -32000,
    'missing state',
    'old data not available due to pruning: requested block 5',
    'history_reader_v3.go',
  ],
  ['nethermind', -32002, 'missing state', 'No state available for block 4096 (0x1f2e3d)', 'EthRpcModule.cs'],
  ['nethermind', -32000, 'missing state', 'Node A:0xab P:0c H:0xde is missing from the DB', 'TrieStore.cs'],
  ['nethermind', -32000, 'missing state', 'Node missing hash=0xde addr=0xab path=0c', 'RawScopedTrieStore.cs'],
  ['nethermind', 4444, 'missing state', 'Pruned history unavailable', 'ErrorMessages.cs'],
  ['reth', -32603, 'missing state', 'state at block #1000 is pruned', 'storage/errors/src/provider.rs'],
  ['reth', 4444, 'missing state', 'pruned history unavailable: requested 5, earliest available 100', 'error/mod.rs'],
  ['besu', -32000, 'missing state', 'World state unavailable', 'RpcErrorType.java'],
  ['besu', 4444, 'missing state', 'Pruned history unavailable', 'RpcErrorType.java'],
  ['gateway', -32000, 'missing state', 'this request needs an archive node', 'common wording'],
  ['geth', -32000, 'not found', 'header not found', 'eth/api_backend.go'],
  ['geth', -32000, 'not found', 'block #4096 not found', 'eth/api_debug.go'],
  ['geth', -32000, 'not found', 'transaction not found', 'eth/tracers/api.go'],
  ['geth', -32000, 'not found', 'finalized block not found', 'eth/api_backend.go'],
  ['reth', -32001, 'not found', 'block not found: 0x1000', 'rpc-eth-types/src/error/mod.rs'],
  ['reth', -32001, 'not found', 'unknown block or tx index', 'rpc-eth-types/src/error/mod.rs'],
  ['nethermind', -32000, 'not found', 'Cannot find block hash for transaction 0xab', 'DebugRpcModule.cs'],
  ['besu', -32000, 'not found', 'Block not found', 'RpcErrorType.java'],
  ['besu', -39001, 'not found', 'Unknown block', 'RpcErrorType.java'],
  ['nethermind', -32005, 'rate limit', 'Too many requests', 'JsonRpcService.cs'],
  ['reth', -32009, 'rate limit', 'Server is busy, try again later', 'jsonrpsee types/src/error.rs'],
  ['gateway', 429, 'rate limit', 'slow down', 'common wording'],
  ['gateway', -32005, 'rate limit', 'daily request count exceeded, request rate limited', 'common wording'],
  ['gateway', -32000, 'rate limit', 'exceeded its compute units per second capacity', 'common wording'],
]

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
