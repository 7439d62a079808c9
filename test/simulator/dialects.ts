// How execution clients differ: the methods they offer, their default limits and their errors (known-errors.ts). Tests
// set smaller limits, so that small chains reach them.

import { knownErrors } from './known-errors.ts'
import type { SimulatedDialect } from './limited-node.ts'

export const clientNames = ['geth', 'reth', 'erigon', 'nethermind', 'besu'] as const
export type ClientName = (typeof clientNames)[number]

export type TraceForm = 'trace_block' | 'debug_traceBlockByNumber' | 'debug_traceTransaction'

export interface NodeDialect extends SimulatedDialect {
  readonly client: ClientName
  readonly traces: readonly TraceForm[]
  /** Blocks per trace_filter by default; 0: the client does not have the method. */
  readonly filterBlocks: number
  /** Calls per batch by default. */
  readonly batchMax: number
  /** Blocks whose state a node with default settings keeps, counted from the newest. */
  readonly stateBlocks: number
  /** Where the client's source or documentation defines these values. */
  readonly origins: readonly string[]
}

const debugMethods = ['debug_traceBlockByNumber', 'debug_traceTransaction'] as const
const allMethods = ['trace_block', ...debugMethods] as const
const unlimited = Number.MAX_SAFE_INTEGER

const clients: readonly Omit<NodeDialect, 'errorOf'>[] = [
  {
    client: 'geth',
    traces: debugMethods,
    filterBlocks: 0,
    batchMax: 1000,
    batchRefusal: 'list',
    stateBlocks: 128,
    origins: [
      'core/state/statedb.go: TriesInMemory',
      'node/defaults.go: BatchRequestLimit',
      'rpc/handler.go: the id of the first call',
      'no trace namespace',
    ],
  },
  {
    client: 'reth',
    traces: allMethods,
    filterBlocks: 100,
    batchMax: unlimited,
    batchRefusal: 'object',
    // With --full; an archive node by default.
    stateBlocks: 10_064,
    origins: [
      'prune/types/src/target.rs: MINIMUM_PRUNING_DISTANCE',
      'rpc-server-types/src/constants.rs: DEFAULT_MAX_TRACE_FILTER_BLOCKS',
      'jsonrpsee types/src/error.rs',
    ],
  },
  {
    client: 'erigon',
    traces: allMethods,
    filterBlocks: unlimited,
    batchMax: 100,
    batchRefusal: 'list',
    stateBlocks: 100_000,
    origins: [
      'db/kv/prune: FullMode, config3.DefaultPruneDistance',
      'help of rpcdaemon: --rpc.batch.limit (default 100)',
      'rpc/handler.go',
    ],
  },
  {
    client: 'nethermind',
    traces: allMethods,
    filterBlocks: unlimited,
    batchMax: 1024,
    batchRefusal: 'object',
    stateBlocks: 64,
    origins: ['IPruningConfig.cs: PruningBoundary', 'JsonRpcConfig.cs: MaxBatchSize', 'JsonRpcProcessor.cs'],
  },
  {
    client: 'besu',
    traces: allMethods,
    filterBlocks: 1000,
    batchMax: 1024,
    batchRefusal: 'object',
    stateBlocks: 512,
    origins: [
      'documentation of --bonsai-historical-block-limit (default 512)',
      'JsonRpcConfiguration.java: DEFAULT_MAX_BATCH_SIZE',
      'ApiConfigurationOptions.java: maxTraceFilterRange',
    ],
  },
]

export const dialects: readonly NodeDialect[] = clients.map((client) => ({
  ...client,
  errorOf(kind) {
    const line = knownErrors.find(([name, , ofKind]) => name === client.client && ofKind === kind)
    return line && { code: line[1], message: line[3] }
  },
}))

/** The clients that have a trace method. */
export const dialectsWith = (form: TraceForm): readonly NodeDialect[] =>
  dialects.filter(({ traces }) => traces.includes(form))
