// Settings of group C: the chain time of each network, and the nodes that its duties are read from.

import { oneOf, PatternText, type Static, Type, withDefault } from '#api/contract/kit.ts'
import { type Network, networkNamePattern, networks } from '#api/contract/wire/networks.ts'
import { invalid, type Problem } from '#core/fault.ts'
import { networkId } from '#core/network-id.ts'
import { recordFrom } from '#core/record-from.ts'
import type { ChainPins } from './chain-pins.ts'
import { Rpc } from './explorer.ts'
import { boolean, integer, list, object, section, text, wholeNumber } from './server.ts'
import { webhooksSettings } from './webhooks.ts'

const beaconSettings = section(
  {
    urls: list(
      PatternText('^https?://', 'begin with http:// or https://'),
      16,
      'Beacon API URLs in order of preference. If one fails, the next one is used. Empty: the network is not read.',
    ),
    acceptAnyChain: boolean(
      false,
      'Whether the nodes may be of any chain, for test networks whose genesis changes. The first node that answers ' +
        'then decides, and all must be of that chain.',
    ),
    timeoutMs: integer(60_000, 100, 600_000, 'Timeout of a request.'),
    everyMs: integer(12_000, 100, 3_600_000, 'Interval of polls for new epochs.'),
    fromEpoch: wholeNumber(
      -1,
      'First epoch to read. −1: the first one that is not final at the first start. An epoch after the last stored one ' +
        'leaves a gap, from where on nothing can be read without a state.',
      -1,
    ),
  },
  'Beacon nodes.',
)

/** An index, a public key or a withdrawal address. */
export const watchNamePattern = '^(\\d{1,10}|0x[0-9a-fA-F]{96}|0x[0-9a-fA-F]{40})$'
export const watchNamesMax = 100_000

const EntityName = (description: string) => Type.Optional(Type.String({ maxLength: 256, description }))
const EntityNames = (description: string) =>
  Type.Optional(Type.Array(Type.String({ minLength: 1, maxLength: 256 }), { maxItems: 256, description }))
const EntityAddress = (description: string) =>
  Type.Optional(Type.String({ pattern: '^0x[0-9a-fA-F]{40}$', description }))
const EntityDay = (description: string) =>
  Type.Optional(Type.Integer({ minimum: 0, maximum: 999_999_999, description }))

export const entitySelectors = ['index', 'pubkey', 'indices', 'withdrawalAddress', 'depositAddress'] as const

const EntityRuleSettings = object({
  index: Type.Optional(Type.Integer({ minimum: 0, description: 'Selects one validator.' })),
  pubkey: Type.Optional(Type.String({ pattern: '^0x[0-9a-fA-F]{96}$', description: 'Selects one validator.' })),
  indices: Type.Optional(
    Type.String({
      pattern: '^\\d{1,10}-\\d{1,10}$',
      description: 'Selects a range, such as `100-199`, with both ends.',
    }),
  ),
  withdrawalAddress: EntityAddress('Selects all validators that withdraw to this address.'),
  depositAddress: EntityAddress('Selects all validators with a deposit from this address.'),
  pool: EntityName('Pool of these validators.'),
  subpool: EntityName('Part of the pool.'),
  nodeOperators: EntityNames('Node operators. An empty list: none.'),
  dvtNetwork: EntityName('DVT network.'),
  dvtOperators: EntityNames('Operators of the DVT network.'),
  fromDay: EntityDay('First chain day of a correction. Without days, the rule is about the present.'),
  untilDay: EntityDay('Chain day after the last one of a correction.'),
})

const registryContract = (contract: string) =>
  text(
    '',
    `${contract}. Empty: that of mainnet or Hoodi, by the id of the chain; on other chains none. \`none\`: it is not asked.`,
    { pattern: '^(none|0x[0-9a-fA-F]{40})?$' },
  )

const registriesSettings = section(
  {
    rocketStorage: registryContract('RocketStorage of Rocket Pool'),
    eigenPodManager: registryContract('EigenPodManager of EigenLayer, for ether.fi'),
    etherFiStakingManager: registryContract('StakingManager of ether.fi'),
    stakeWiseVaultsRegistry: registryContract('VaultsRegistry of StakeWise v3'),
    lidoLocator: registryContract('LidoLocator of Lido'),
    lidoVaultFactory: registryContract('VaultFactory of Lido stVaults'),
  },
  'Contracts of registries that name pools and operators. The nodes of `execution.rpc` are asked.',
)

const entitiesSettings = section(
  {
    rules: list(
      EntityRuleSettings,
      10_000,
      'Rules, each with one selector. They also apply to validators that appear later.',
    ),
    file: text(
      '',
      'File with more rules, as for `tetrad import entities`. A relative path starts at the working directory. The file ' +
        'is read again when it changes. If it is not valid, its last valid version stays in force. Empty: none.',
      { maxLength: 4096 },
    ),
    registries: registriesSettings,
    fromLabels: boolean(
      false,
      'Whether a labelled withdrawal address names the pool of its validators, if no rule and no registry does.',
    ),
    stakingLabels: list(
      Type.String({ minLength: 1, maxLength: 256 }),
      1000,
      'With `fromLabels`: labelled entities, by slug, whose deposit addresses name the pool too, if all validators of the ' +
        'address withdraw to one address.',
    ),
  },
  'Pools and operators of validators.',
)

const network = section(
  {
    genesisUnix: wholeNumber(
      0,
      'Genesis, Unix seconds. Nodes with another genesis are refused. 0: that of the known chain of this name, ' +
        'otherwise that of the nodes.',
    ),
    genesisRoot: text(
      '',
      'Genesis validators root. Nodes with another one are refused. Empty: that of the known chain of this name, ' +
        'unless `genesisUnix` is another one; otherwise that of the nodes.',
      { pattern: '^(0x[0-9a-f]{64})?$' },
    ),
    slotSeconds: wholeNumber(0, 'Seconds per slot. 0: as the nodes report.'),
    slotsPerEpoch: wholeNumber(0, 'Slots per epoch. 0: as the nodes report.'),
    epochsPerHour: wholeNumber(0, 'Epochs per chain hour. 0: as many as fit into an hour, 9 on mainnet.'),
    epochsPerDay: wholeNumber(0, 'Epochs per chain day. 0: as many as fit into a day, 225 on mainnet.'),
    states: withDefault(
      oneOf(['computed', 'node'], {
        description:
          'Where the states of validators come from. `computed`: one state of a node is the beginning, and all later ' +
          'ones are computed from blocks and proven by their roots. `node`: the state of every epoch is read from a ' +
          'node that has all of them; for networks whose rules Tetrad cannot compute.',
      }),
      'computed',
    ),
    engine: withDefault(
      oneOf(['auto', 'typescript'], {
        description:
          'What computes states. `auto`: the native library for 20 000 validators or more, which knows the forks up to ' +
          'Fulu. `typescript`: also for a large network, where it takes 4 GB of memory for a million validators.',
      }),
      'auto',
    ),
    checkpoint: text(
      '',
      'Where the first state is if no node has it: a file (SSZ), or the URL of a server with the debug API of a beacon ' +
        'node. It may be of an earlier epoch. Empty: only from the nodes.',
    ),
    checkpointRoot: text(
      '',
      'The root of the last block before the state of `checkpoint`. Another state is refused. Empty: any.',
      { pattern: '^(0x[0-9a-f]{64})?$' },
    ),
    verifySignatures: boolean(
      true,
      'Whether the signatures of blocks are verified while states are computed. If not, the nodes are trusted that the ' +
        'blocks are signed; their effects are verified all the same.',
    ),
    beacon: beaconSettings,
    execution: section(
      {
        chainId: text('', 'Chain id of the execution layer. Empty: as the beacon nodes report.', {
          pattern: '^([1-9]\\d{0,18})?$',
        }),
        rpc: list(
          Rpc,
          16,
          'Execution nodes for priority fees, builder payments, deposit addresses and registries of pools, as entries or ' +
            'as URLs. Empty: these fields are unknown.',
        ),
        feeRecipients: list(
          Type.String({ pattern: '^0x[0-9a-fA-F]{40}$' }),
          1000,
          'Addresses that your validators registered with builders as fee recipients. A payment to one of them ' +
            "counts like a payment to the proposer's withdrawal address.",
        ),
      },
      'Execution nodes.',
    ),
    watch: list(
      Type.String({ pattern: watchNamePattern }),
      watchNamesMax,
      'Validators to store: indices, public keys or withdrawal addresses. Empty: all validators.',
    ),
    watchFile: text(
      '',
      'File with more validators to store, one index, public key or withdrawal address per line. A relative ' +
        'path starts at the working directory. The file is read again when it changes. Empty: none.',
      { maxLength: 4096 },
    ),
    watchPastDays: integer(
      7,
      0,
      10_000,
      'Chain days to read again for a validator that is added to the watch list. A day costs as much as reading it ' +
        'for the first time. 0: none.',
    ),
    entities: entitiesSettings,
    showProvisional: boolean(
      false,
      'Whether responses about one validator include epochs that are not final yet, marked with ' +
        '`x-tetrad-finality: head`. They are computed for the watch list; without one, only in networks of at most ' +
        '20 000 validators. The server needs about twice the memory for processing epochs. Until the first final epoch ' +
        'is stored, responses about a validator are 503.',
    ),
    hoursKeptDays: wholeNumber(90, 'Chain days to keep hourly figures. 0: forever. Daily figures are never deleted.'),
    missedKeptDays: wholeNumber(400, 'Chain days to keep single late, wrong and missing duties. 0: forever.'),
  },
  'One network. If a beacon node is configured, slots are read from it, and its genesis is compared.',
)
export type NetworkSettings = Static<typeof network> & {
  /** What the operator has set, once the other members are those of the chain. */
  readonly pins?: ChainPins
}

/** Those of the specification are always there. */
export type NetworksSettings = Readonly<Record<(typeof networks)[number], NetworkSettings>> &
  Readonly<Record<string, NetworkSettings>>

interface WithNetworks {
  readonly validators: { readonly networks: NetworksSettings }
}

/** The names of all networks: those of the specification, then the others of the configuration. */
export const networksOf = ({ validators }: WithNetworks): readonly Network[] => [
  ...networks,
  ...Object.keys(validators.networks).filter((name) => !networks.some((known) => known === name)),
]

/** Throws if the configuration does not have the network. */
export function networkSettings(settings: WithNetworks, network: Network): NetworkSettings {
  const found = settings.validators.networks[network]
  if (found) return found
  const names = networksOf(settings).join(', ')
  throw invalid(['network'], `must be one of ${names}; others are added to validators.networks`, network)
}

/** Whether only some validators are stored. */
export const hasWatchList = ({ watch, watchFile }: Pick<NetworkSettings, 'watch' | 'watchFile'>): boolean =>
  watch.length > 0 || watchFile !== ''

export const validatorsSettings = section(
  {
    networks: withDefault(
      Type.Unsafe<NetworksSettings>(
        Type.Object(
          recordFrom(networks, () => network),
          {
            additionalProperties: false,
            patternProperties: { [networkNamePattern]: network },
            description:
              'Networks, by the name that requests use: those of the specification, and any other one of lower-case ' +
              'letters, digits and hyphens.',
          },
        ),
      ),
      {} as never,
    ),
    ...webhooksSettings,
  },
  'Validator ratings.',
)

/** Names that are not in `networks`, and two names with the same number in the database. */
export function networkProblems(settings: Static<typeof validatorsSettings>): Problem[] {
  const names = networksOf({ validators: settings })
  const unknown = (['expectedFeeRecipients', 'programmes', 'relays'] as const).flatMap((list) =>
    settings[list].flatMap(({ network }, at) =>
      names.includes(network)
        ? []
        : [{ at: ['validators', list, String(at), 'network'], message: `must be one of ${names.join(', ')}` }],
    ),
  )
  const same = names.flatMap((name, at) => {
    const earlier = names.slice(0, at).find((other) => networkId(other) === networkId(name))
    const message = `has the same number in the database as ${earlier}; choose another name`
    return earlier === undefined ? [] : [{ at: ['validators', 'networks', name], message }]
  })
  return [...unknown, ...same, ...names.flatMap((name) => ruleProblems(name, settings.networks[name]))]
}

/** Rules without a selector, with several, or with a range that ends before it begins. */
const ruleProblems = (name: string, network: NetworkSettings | undefined): Problem[] =>
  (network?.entities.rules ?? []).flatMap((rule, at) => {
    const path = ['validators', 'networks', name, 'entities', 'rules', String(at)]
    const [first = 0, last = 0] = (rule.indices ?? '').split('-').map(Number)
    if (entitySelectors.filter((selector) => rule[selector] !== undefined).length !== 1)
      return [{ at: path, message: `must have exactly one of ${entitySelectors.join(', ')}` }]
    if (first > last) return [{ at: [...path, 'indices'], message: 'must not end before it begins' }]
    const isInOrder = rule.untilDay === undefined || (rule.fromDay ?? 0) < rule.untilDay
    return isInOrder ? [] : [{ at: [...path, 'untilDay'], message: 'must be greater than fromDay' }]
  })
