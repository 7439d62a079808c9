// Settings of group A: the served chains and their nodes, limits of a funding search, and label lists.
import { PatternText, type Static, Type, withDefault } from '#api/contract/kit.ts'
import { chainNames } from '#shared/chain-names.ts'
import { boolean, choice, integer, list, object, section, textFor, wholeNumber } from './server.ts'

export const Rpc = object(
  {
    url: PatternText('^https?://', 'begin with http:// or https://', {
      description: 'JSON-RPC URL of a node. A key in the URL is never logged.',
    }),
    perSecond: integer(0, 0, 100_000, 'Calls in any rolling second; each call of a batch counts. 0: no limit.'),
    batchMax: integer(50, 1, 1000, 'Calls per batch request. 1: the node supports no batches.'),
    timeoutMs: integer(10_000, 100, 600_000, 'Time limit of one request.'),
  },
  { [textFor]: 'url' },
)

const Chain = object({
  id: Type.String({ pattern: '^[1-9]\\d{0,18}$', description: 'Chain id, as in `chainid`.' }),
  name: Type.String({ minLength: 1, description: 'Display name.' }),
  firstBlock: wholeNumber(0, 'First block that can contain a transfer. Earlier blocks are not read.'),
  mode: choice(
    ['probe', 'index', 'both'],
    'probe',
    'probe: search an archive node on request. index: read every block ahead of time. both: probe while the index is incomplete.',
  ),
  archive: boolean(true, 'The nodes are archive nodes. Probing needs them.'),
  finalityBlocks: integer(
    0,
    0,
    1_000_000,
    "Blocks behind the head that count as final. 0: use the node's 'finalized' block.",
  ),
  headMaxAgeMs: Type.Optional(
    Type.Integer({
      minimum: 0,
      maximum: 86_400_000,
      description:
        'Age of the newest block from which on no response is final, and the chain is reported as stale. 0: not checked. ' +
        `Default: 300000 for the chains ${Object.keys(chainNames).join(', ')}, otherwise 0.`,
    }),
  ),
  rpc: list(Rpc, 16, 'Nodes, best first, as entries or as URLs. The next one is used when one fails.'),
})
export type ChainSettings = Static<typeof Chain>

const knownHeadMaxAgeMs = 300_000

/** 0: the age of the newest block is not checked, because the chain may make blocks on demand. */
export const headMaxAgeMs = (chain: Pick<ChainSettings, 'id' | 'headMaxAgeMs'>): number =>
  chain.headMaxAgeMs ?? (chain.id in chainNames ? knownHeadMaxAgeMs : 0)
export type RpcSettings = Static<typeof Rpc>

const chain = (id: string, name: string): ChainSettings => ({
  id,
  name,
  firstBlock: 0,
  mode: 'probe',
  archive: true,
  finalityBlocks: 0,
  rpc: [],
})

export const explorerSettings = section(
  {
    chains: withDefault(Type.Array(Chain, { maxItems: 256, description: 'Served chains.' }), [
      chain('1', 'Ethereum'),
      chain('137', 'Polygon'),
    ]),
    probe: section(
      {
        timeoutMs: integer(
          20_000,
          100,
          600_000,
          'Time limit of one search. Must be less than server.responseTimeoutMs.',
        ),
        parallelMax: integer(32, 1, 1000, 'Searches that run at the same time.'),
        fanOut: integer(
          1,
          1,
          63,
          'Blocks at which each round reads the account. 1 needs the fewest calls, more need fewer rounds.',
        ),
      },
      'The search for a first funding in the state of an archive node.',
    ),
    index: section(
      {
        parallel: integer(4, 1, 64, 'Ranges of blocks read at the same time.'),
        rangeBlocks: integer(100, 1, 10_000, 'Blocks read and committed together.'),
        unfinalizedMax: integer(2048, 1, 100_000, 'Unfinalized blocks that are stored, at most.'),
        everyMs: integer(4000, 100, 600_000, 'How often the head is polled.'),
        compareNodes: boolean(
          true,
          'Whether several nodes of a chain are compared with each other before a range is stored: the hash and the ' +
            'transfers of one block. If they differ, nothing is stored until they agree.',
        ),
      },
      'The index: reading every block ahead of time.',
    ),
    reverseLookups: boolean(
      false,
      'Whether the console shows whom an entity funded, and the fundings of a transaction. It needs two indexes, which are ' +
        'created at the next start and make writing fundings on SQLite several times as slow.',
    ),
    unavailableChains: withDefault(
      Type.Array(Type.String(), {
        description: 'Chains whose label list is "temporarily unavailable" (spec section 8).',
      }),
      ['4326'],
    ),
    labels: section(
      {
        inlineMax: wholeNumber(5000, 'Longest list that is returned as an array. A longer one is a download link.'),
        linkSeconds: integer(300, 1, 86_400, 'Lifetime of a download link.'),
        csvForSpreadsheets: boolean(
          false,
          'Put an apostrophe before values of the CSV download that a spreadsheet would run as a formula (= + - @). false: values are unchanged.',
        ),
      },
      'Label lists.',
    ),
  },
  'Chain explorer data.',
)
