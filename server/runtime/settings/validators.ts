// Settings of group C: the clock of each network and the nodes that its duties are read from.
import { PatternText, type Static, Type, withDefault } from '#api/kit.ts'
import { Rpc } from './explorer.ts'
import { section } from './server.ts'

const beaconSettings = section(
  {
    urls: withDefault(
      Type.Array(PatternText('^https?://', 'begin with http:// or https://'), {
        maxItems: 16,
        description: 'Beacon API addresses, best first; the next one is asked when one fails. Empty: nothing is read.',
      }),
      [],
    ),
    timeoutMs: withDefault(
      Type.Integer({ minimum: 100, maximum: 600_000, description: 'How long one answer may take.' }),
      60_000,
    ),
    everyMs: withDefault(
      Type.Integer({ minimum: 100, maximum: 3_600_000, description: 'How often the finalized epoch is asked for.' }),
      12_000,
    ),
    fromEpoch: withDefault(
      Type.Integer({
        minimum: -1,
        description: 'First epoch that is ever read; −1: that of the chain day in which reading begins.',
      }),
      -1,
    ),
    auditValidators: withDefault(
      Type.Integer({
        minimum: 0,
        maximum: 10_000,
        description:
          "Validators of each epoch whose rewards are held against the node's own, where it tells them; 0: none.",
      }),
      64,
    ),
  },
  'Where duties are read from.',
)

const network = (genesisUnix: number, chainId: string) =>
  section(
    {
      genesisUnix: withDefault(Type.Integer({ minimum: 0, description: 'Genesis, Unix seconds.' }), genesisUnix),
      slotSeconds: withDefault(Type.Integer({ minimum: 1, description: 'Length of a slot.' }), 12),
      slotsPerEpoch: withDefault(Type.Integer({ minimum: 1, description: 'Slots in an epoch.' }), 32),
      epochsPerHour: withDefault(Type.Integer({ minimum: 1, description: 'Epochs in a chain hour.' }), 9),
      epochsPerDay: withDefault(Type.Integer({ minimum: 1, description: 'Epochs in a chain day.' }), 225),
      beacon: beaconSettings,
      execution: section(
        {
          chainId: withDefault(
            Type.String({ pattern: '^[1-9]\\d{0,18}$', description: 'Chain id of the execution side.' }),
            chainId,
          ),
          rpc: withDefault(
            Type.Array(Rpc, {
              maxItems: 16,
              description: 'Execution nodes that tell fees and builder payments; empty: those fields stay null.',
            }),
            [],
          ),
          feeRecipients: withDefault(
            Type.Array(Type.String({ pattern: '^0x[0-9a-fA-F]{40}$' }), {
              maxItems: 1000,
              description:
                'Addresses that your validators registered as fee recipients with builders. A payment to one of them counts ' +
                "like one to the proposer's withdrawal address.",
            }),
            [],
          ),
        },
        'Where priority fees and payments of builders are read from.',
      ),
      watch: withDefault(
        Type.Array(Type.String({ pattern: '^(\\d{1,10}|0x[0-9a-fA-F]{96}|0x[0-9a-fA-F]{40})$' }), {
          maxItems: 100_000,
          description:
            'Validators whose ratings are kept: indices, public keys, withdrawal addresses. Empty: all of them.',
        }),
        [],
      ),
      hoursKeptDays: withDefault(
        Type.Integer({
          minimum: 0,
          description: 'Chain days for which figures by the hour are kept; 0: all. Figures by the day are always kept.',
        }),
        90,
      ),
      missedKeptDays: withDefault(
        Type.Integer({
          minimum: 0,
          description: 'Chain days for which late, wrong and missing duties are kept one by one; 0: all.',
        }),
        400,
      ),
    },
    'One network. With a beacon node, genesis and slots are taken from the node.',
  )
export type NetworkSettings = Static<ReturnType<typeof network>>

export const validatorsSettings = section(
  {
    networks: section(
      {
        mainnet: network(1_606_824_023, '1'),
        hoodi: network(1_742_213_400, '560048'),
        holesky: network(1_695_902_400, '17000'),
      },
      'Networks by the name in the header.',
    ),
  },
  'Validator ratings.',
)
