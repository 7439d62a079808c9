// The first block of a private chain on Fulu, for geth and for Prysm.
import { createHash } from 'node:crypto'
import { aggregatePublicKeys, SecretKey } from '@chainsafe/blst'
import { ssz } from '@lodestar/types'

export const validatorCount = 64
export const slotSeconds = 2
export const slotsPerEpoch = 32
export const chainId = 74_829
export const networkName = 'private-chain'
export const genesisForkVersion = '0x10000074'
const forks = ['ALTAIR', 'BELLATRIX', 'CAPELLA', 'DENEB', 'ELECTRA', 'FULU'] as const
export const versionOf = (fork: (typeof forks)[number]): string => `0x${20 + forks.indexOf(fork)}000074`

export const contracts = {
  deposit: '0x00000000219ab540356cbb839cbe05303d7705fa',
  withdrawalRequests: '0x00000961ef480eb55e80d19ad83579a64c007002',
  consolidationRequests: '0x0000bbddc7ce488642fb579f8b00f3a590007251',
} as const

const gwei = 1_000_000_000
const orderOfKeys = 0x73eda753299d7d483339d80809a1d80553bda402fffe5bfeffffffff00000001n

/** The well-known keys that `validator --interop-num-validators` uses. */
export function secretKeyOf(index: number): SecretKey {
  const number = Buffer.alloc(32)
  number.writeUInt32LE(index)
  const hash = createHash('sha256').update(number).digest().reverse()
  const secret = BigInt(`0x${hash.toString('hex')}`) % orderOfKeys
  return SecretKey.fromHex(secret.toString(16).padStart(64, '0'))
}

/** What a validator begins with. All three kinds of credentials, and balances above 32 ETH. */
export function firstBalanceOf(index: number): { readonly prefix: 0 | 1 | 2; readonly eth: number } {
  if (index < 8) return { prefix: 0, eth: 32 }
  if (index < 40) return { prefix: 1, eth: 32 }
  return { prefix: 2, eth: index % 8 === 0 ? 96 : 32 }
}

export function credentialsOf(prefix: 0 | 1 | 2, pubkey: Uint8Array, address: string): Buffer {
  const bytes = prefix === 0 ? createHash('sha256').update(pubkey).digest() : Buffer.alloc(32)
  bytes[0] = prefix
  if (prefix !== 0) bytes.set(Buffer.from(address.slice(2), 'hex'), 12)
  return bytes
}

export interface GenesisAccount {
  readonly balance: string
  readonly code?: string
  readonly nonce?: string
  readonly storage?: Readonly<Record<string, string>>
}
export type GenesisAccounts = Readonly<Record<string, GenesisAccount>>

const blobs = { target: 6, max: 9, baseFeeUpdateFraction: 5_007_716 }

/** `amsterdamUnix`: when the chain crosses to the next fork of geth; undefined: never. */
export const executionGenesis = (unix: number, alloc: GenesisAccounts, amsterdamUnix?: number) => ({
  config: {
    chainId,
    ...Object.fromEntries(
      'homestead eip150 eip155 eip158 byzantium constantinople petersburg istanbul berlin london mergeNetsplit'
        .split(' ')
        .map((name) => [`${name}Block`, 0]),
    ),
    ...Object.fromEntries(['shanghai', 'cancun', 'prague', 'osaka'].map((name) => [`${name}Time`, 0])),
    ...(amsterdamUnix !== undefined && { amsterdamTime: amsterdamUnix }),
    terminalTotalDifficulty: 0,
    depositContractAddress: contracts.deposit,
    blobSchedule: {
      cancun: blobs,
      prague: blobs,
      osaka: blobs,
      ...(amsterdamUnix !== undefined && { amsterdam: blobs }),
    },
  },
  timestamp: `0x${unix.toString(16)}`,
  gasLimit: '0x3938700',
  difficulty: '0x0',
  baseFeePerGas: '0x3b9aca00',
  alloc,
})

/** config.yaml of the beacon nodes: mainnet, with short delays, and with churn for consolidations of few validators. */
export const beaconConfig = (): string =>
  Object.entries({
    PRESET_BASE: 'mainnet',
    CONFIG_NAME: networkName,
    TERMINAL_TOTAL_DIFFICULTY: 0,
    MIN_GENESIS_ACTIVE_VALIDATOR_COUNT: validatorCount,
    GENESIS_FORK_VERSION: genesisForkVersion,
    ...Object.fromEntries(
      forks.flatMap((fork) => [
        [`${fork}_FORK_VERSION`, versionOf(fork)],
        [`${fork}_FORK_EPOCH`, 0],
      ]),
    ),
    SECONDS_PER_SLOT: slotSeconds,
    SLOT_DURATION_MS: slotSeconds * 1000,
    SECONDS_PER_ETH1_BLOCK: slotSeconds,
    ETH1_FOLLOW_DISTANCE: 8,
    SHARD_COMMITTEE_PERIOD: 0,
    MIN_VALIDATOR_WITHDRAWABILITY_DELAY: 1,
    MIN_PER_EPOCH_CHURN_LIMIT_ELECTRA: 256 * gwei,
    MAX_PER_EPOCH_ACTIVATION_EXIT_CHURN_LIMIT: 128 * gwei,
    DEPOSIT_CHAIN_ID: chainId,
    DEPOSIT_NETWORK_ID: chainId,
    DEPOSIT_CONTRACT_ADDRESS: contracts.deposit,
  })
    .map(([name, value]) => `${name}: ${value}\n`)
    .join('')

/** A block of the execution layer, as `eth_getBlockByNumber` returns it. */
export type ExecutionBlock = Readonly<Record<string, string>>

const bytesOf = (hex = '0x'): Uint8Array => Buffer.from(hex.slice(2), 'hex')

/** `withdrawalAddress`: of all validators that have one. Returns the state as SSZ, and the root of its validators. */
export function beaconGenesis(unix: number, block: ExecutionBlock, withdrawalAddress: string) {
  const { BeaconState, BeaconBlockBody } = ssz.fulu
  const indices = Array.from({ length: validatorCount }, (_, index) => index)
  const keys = indices.map((index) => secretKeyOf(index).toPublicKey())
  const pubkeys = keys.map((key) => key.toBytes())
  const balances = indices.map((index) => firstBalanceOf(index).eth * gwei)
  const validators = indices.map((index) => ({
    pubkey: pubkeys[index] as Uint8Array,
    withdrawalCredentials: credentialsOf(firstBalanceOf(index).prefix, pubkeys[index] as Uint8Array, withdrawalAddress),
    effectiveBalance: balances[index] as number,
    slashed: false,
    activationEligibilityEpoch: 0,
    activationEpoch: 0,
    exitEpoch: Number.POSITIVE_INFINITY,
    withdrawableEpoch: Number.POSITIVE_INFINITY,
  }))
  const state = BeaconState.defaultValue()
  const version = bytesOf(versionOf('FULU'))
  const hash = bytesOf(block.hash)
  const seats = Array.from(state.currentSyncCommittee.pubkeys, (_, seat) => seat % validatorCount)
  const committee = {
    pubkeys: seats.map((index) => pubkeys[index] as Uint8Array),
    aggregatePubkey: aggregatePublicKeys(seats.flatMap((index) => keys[index] ?? [])).toBytes(),
  }
  const validatorsRoot = BeaconState.fields.validators.hashTreeRoot(validators)
  Object.assign(state, {
    genesisTime: unix,
    genesisValidatorsRoot: validatorsRoot,
    fork: { previousVersion: version, currentVersion: version, epoch: 0 },
    latestBlockHeader: {
      ...state.latestBlockHeader,
      bodyRoot: BeaconBlockBody.hashTreeRoot(BeaconBlockBody.defaultValue()),
    },
    eth1Data: { ...state.eth1Data, blockHash: hash },
    validators,
    balances,
    randaoMixes: state.randaoMixes.map(() => hash),
    previousEpochParticipation: indices.map(() => 0),
    currentEpochParticipation: indices.map(() => 0),
    inactivityScores: indices.map(() => 0),
    currentSyncCommittee: committee,
    nextSyncCommittee: committee,
    depositRequestsStartIndex: 0n,
    proposerLookahead: state.proposerLookahead.map((_, slot) => (slot * 7) % validatorCount),
    latestExecutionPayloadHeader: {
      ...state.latestExecutionPayloadHeader,
      parentHash: bytesOf(block.parentHash),
      feeRecipient: bytesOf(block.miner),
      stateRoot: bytesOf(block.stateRoot),
      receiptsRoot: bytesOf(block.receiptsRoot),
      logsBloom: bytesOf(block.logsBloom),
      prevRandao: bytesOf(block.mixHash),
      gasLimit: Number(block.gasLimit),
      timestamp: Number(block.timestamp),
      extraData: bytesOf(block.extraData),
      baseFeePerGas: BigInt(block.baseFeePerGas ?? 0),
      blockHash: hash,
      transactionsRoot: ssz.bellatrix.Transactions.hashTreeRoot([]),
      withdrawalsRoot: ssz.capella.Withdrawals.hashTreeRoot([]),
    },
  })
  return { ssz: BeaconState.serialize(state), validatorsRoot }
}
