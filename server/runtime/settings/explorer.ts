// Settings of group A: which chains are served and by which nodes, the limits of a search for a funding, and how label
// lists are handed out.
import { oneOf, PatternText, type Static, Type, withDefault } from '#api/kit.ts'
import { section } from './server.ts'

const whole = (value: number, minimum: number, maximum: number, description: string) =>
  withDefault(Type.Integer({ minimum, maximum, description }), value)

export const Rpc = Type.Object(
  {
    url: PatternText('^https?://', 'begin with http:// or https://', {
      description: 'JSON-RPC address of a node; a key in it is never logged.',
    }),
    perSecond: whole(0, 0, 100_000, 'Calls in any rolling second, each member of a batch counted; 0: no limit.'),
    batchMax: whole(50, 1, 1000, 'Calls sent in one request; 1: the node takes no batches.'),
    timeoutMs: whole(10_000, 100, 600_000, 'How long one request may take.'),
  },
  { additionalProperties: false },
)

const Chain = Type.Object(
  {
    id: Type.String({ pattern: '^[1-9]\\d{0,18}$', description: 'Chain id, as the wire writes it.' }),
    name: Type.String({ minLength: 1, description: 'Name for people.' }),
    firstBlock: withDefault(
      Type.Integer({ minimum: 0, description: 'First block that can hold a transfer; none before it needs reading.' }),
      0,
    ),
    mode: withDefault(
      oneOf(['probe', 'index', 'both'], {
        description:
          'probe: search an archive node when asked. index: read every block ahead of time. both: probe while the index is not complete.',
      }),
      'probe',
    ),
    archive: withDefault(
      Type.Boolean({ description: 'The nodes keep old state; without it there is nothing to probe.' }),
      true,
    ),
    finalityBlocks: whole(
      0,
      0,
      1_000_000,
      "Blocks behind the head that count as final; 0: ask the node for its own 'finalized' block.",
    ),
    rpc: withDefault(
      Type.Array(Rpc, { maxItems: 16, description: 'Nodes, best first; the next one is asked when one fails.' }),
      [],
    ),
  },
  { additionalProperties: false },
)
export type ChainSettings = Static<typeof Chain>
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
    chains: withDefault(Type.Array(Chain, { maxItems: 256, description: 'Chains that are served.' }), [
      chain('1', 'Ethereum'),
      chain('137', 'Polygon'),
    ]),
    probe: section(
      {
        timeoutMs: whole(20_000, 100, 600_000, 'Time limit of one search; less than server.answerTimeoutMs.'),
        parallelMax: whole(32, 1, 1000, 'Searches that run at the same time.'),
        fanOut: whole(
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
        parallel: whole(4, 1, 64, 'Ranges of blocks read at the same time.'),
        rangeBlocks: whole(100, 1, 10_000, 'Blocks read and committed together.'),
        nearMax: whole(2048, 1, 100_000, 'Blocks that are not final yet and are kept, at most.'),
        everyMs: whole(4000, 100, 600_000, 'How often the head is asked for.'),
      },
      'Reading every block ahead of time.',
    ),
    unavailableChains: withDefault(
      Type.Array(Type.String(), {
        description: 'Chains whose label list answers "temporarily unavailable" (spec section 8).',
      }),
      ['4326'],
    ),
    labels: section(
      {
        inlineMax: withDefault(
          Type.Integer({
            minimum: 0,
            description: 'Longest list that is sent as an array; a longer one becomes a link.',
          }),
          5000,
        ),
        linkSeconds: withDefault(
          Type.Integer({ minimum: 1, maximum: 86_400, description: 'How long a download link is good.' }),
          300,
        ),
        csvForSpreadsheets: withDefault(
          Type.Boolean({
            description:
              'Put an apostrophe before values of the CSV download that a spreadsheet would run as a formula (= + - @). Off: values are written as they are.',
          }),
          false,
        ),
      },
      'Label lists.',
    ),
  },
  'Chain explorer data.',
)
