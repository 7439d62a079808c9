// What happens on the private chain: messages of validators, requests to contracts, and transactions of every kind.
import { createHash } from 'node:crypto'
import type { SecretKey } from '@chainsafe/blst'
import { ssz } from '@lodestar/types'
import { concatHex, encodeFunctionData, fromRlp, type Hex, numberToHex, pad, parseAbi, toRlp } from 'viem'
import { type PrivateKeyAccount, privateKeyToAccount } from 'viem/accounts'
import { getJson, rpc } from './calls.ts'
import {
  chainId,
  contracts,
  credentialsOf,
  genesisForkVersion,
  secretKeyOf,
  slotsPerEpoch,
  versionOf,
} from './genesis.ts'

const gwei = 1_000_000_000n
const ether = 10n ** 18n

export const accountOf = (number: number): PrivateKeyAccount =>
  privateKeyToAccount(`0x${createHash('sha256').update(`account ${number}`).digest('hex')}`)

// Messages of validators

const domains = { proposer: 0, attester: 1, deposit: 3, exit: 4, credentials: 10 } as const

const bytesOf = (hex: string): Uint8Array => Buffer.from(hex.slice(2), 'hex')
const hexOf = (bytes: Uint8Array): Hex => `0x${Buffer.from(bytes).toString('hex')}`

export interface Signer {
  sign(key: SecretKey, root: Uint8Array, domain: keyof typeof domains): Uint8Array
}

/** Exits are signed for Capella, deposits and changes of credentials for the first fork, deposits for any chain. */
export function createSigner(validatorsRoot: Uint8Array): Signer {
  const versions = {
    ...{ proposer: versionOf('FULU'), attester: versionOf('FULU'), exit: versionOf('CAPELLA') },
    ...{ deposit: genesisForkVersion, credentials: genesisForkVersion },
  }
  return {
    sign(key, root, domain) {
      const genesisValidatorsRoot = domain === 'deposit' ? new Uint8Array(32) : validatorsRoot
      const currentVersion = bytesOf(versions[domain])
      const forkRoot = ssz.phase0.ForkData.hashTreeRoot({ currentVersion, genesisValidatorsRoot })
      const full = Buffer.concat([Buffer.from([domains[domain], 0, 0, 0]), forkRoot.subarray(0, 28)])
      return key.sign(ssz.phase0.SigningData.hashTreeRoot({ objectRoot: root, domain: full })).toBytes()
    },
  }
}

export interface Messages {
  exit(validator: number, epoch: number): Promise<void>
  changeCredentials(validator: number, address: string): Promise<void>
  slashProposer(validator: number, slot: number): Promise<void>
  slashAttester(validator: number, epoch: number): Promise<void>
}

export function createMessages(url: string, signer: Signer): Messages {
  const send = (path: string, body: unknown) =>
    getJson<unknown>(url, `/eth/${path}`, body, { 'eth-consensus-version': 'fulu' })
  const root = (byte: number) => new Uint8Array(32).fill(byte)
  return {
    async exit(validatorIndex, epoch) {
      const message = { epoch, validatorIndex }
      const signature = signer.sign(secretKeyOf(validatorIndex), ssz.phase0.VoluntaryExit.hashTreeRoot(message), 'exit')
      await send('v1/beacon/pool/voluntary_exits', ssz.phase0.SignedVoluntaryExit.toJson({ message, signature }))
    },
    async changeCredentials(validatorIndex, address) {
      const key = secretKeyOf(validatorIndex)
      const message = {
        validatorIndex,
        fromBlsPubkey: key.toPublicKey().toBytes(),
        toExecutionAddress: bytesOf(address),
      }
      const signature = signer.sign(key, ssz.capella.BLSToExecutionChange.hashTreeRoot(message), 'credentials')
      const change = ssz.capella.SignedBLSToExecutionChange.toJson({ message, signature })
      await send('v1/beacon/pool/bls_to_execution_changes', [change])
    },
    async slashProposer(proposerIndex, slot) {
      const headers = [1, 2].map((byte) => {
        const message = { slot, proposerIndex, parentRoot: root(0), stateRoot: root(0), bodyRoot: root(byte) }
        const hash = ssz.phase0.BeaconBlockHeader.hashTreeRoot(message)
        const signature = signer.sign(secretKeyOf(proposerIndex), hash, 'proposer')
        return { message: ssz.phase0.BeaconBlockHeader.toJson(message), signature: hexOf(signature) }
      })
      await send('v1/beacon/pool/proposer_slashings', { signed_header_1: headers[0], signed_header_2: headers[1] })
    },
    async slashAttester(validator, epoch) {
      const votes = [1, 2].map((byte) => {
        const data = {
          ...{ slot: epoch * slotsPerEpoch, index: 0, beaconBlockRoot: root(byte) },
          ...{ source: { epoch: 0, root: root(0) }, target: { epoch, root: root(byte) } },
        }
        const hash = ssz.phase0.AttestationData.hashTreeRoot(data)
        return {
          attesting_indices: [String(validator)],
          data: ssz.phase0.AttestationData.toJson(data),
          signature: hexOf(signer.sign(secretKeyOf(validator), hash, 'attester')),
        }
      })
      await send('v2/beacon/pool/attester_slashings', { attestation_1: votes[0], attestation_2: votes[1] })
    },
  }
}

// Transactions

export interface Transaction {
  readonly to?: Hex
  readonly value?: bigint
  readonly data?: Hex
  readonly type?: 'legacy' | 'eip2930' | 'eip1559' | 'eip7702' | 'eip4844'
}

/** Sends transactions of one account. */
export interface Sender {
  readonly account: PrivateKeyAccount
  /** Returns the address of a created contract, too. */
  send(transaction: Transaction): Promise<{ readonly hash: Hex; readonly nonce: number }>
}

const delegate = accountOf(900)

export function createSender(url: string, account: PrivateKeyAccount, target: Hex): Sender {
  let next: number | undefined
  return {
    account,
    async send({ to, value = 0n, data, type = 'eip1559' }) {
      next ??= Number(await rpc(url, 'eth_getTransactionCount', [account.address, 'pending']))
      const nonce = next
      const price = 10n * gwei
      const tip = BigInt(1 + (nonce % 3)) * gwei
      const fees =
        type === 'legacy' || type === 'eip2930'
          ? { gasPrice: price }
          : { maxFeePerGas: price, maxPriorityFeePerGas: tip }
      const common = { chainId, nonce, value, gas: 500_000n, ...(to && { to }), ...(data && { data }) }
      let signed: Hex
      if (type === 'eip4844') signed = await signBlobs(url, account, { ...common, ...fees } as BlobFields)
      else {
        const more =
          type === 'eip2930'
            ? { accessList: [{ address: target, storageKeys: [pad('0x1')] }] }
            : type === 'eip7702'
              ? { authorizationList: [await delegate.signAuthorization({ chainId, nonce: 0, address: target })] }
              : {}
        signed = await account.signTransaction({ ...common, ...fees, ...more, type } as never)
      }
      const hash = (await rpc(url, 'eth_sendRawTransaction', [signed])) as Hex
      next = nonce + 1
      return { hash, nonce }
    },
  }
}

interface BlobFields {
  readonly nonce: number
  readonly gas: bigint
  readonly maxFeePerGas: bigint
  readonly maxPriorityFeePerGas: bigint
  readonly to: Hex
  readonly value: bigint
}

/** geth computes the commitments and proofs; the signed transaction takes the place of the unsigned one in its envelope. */
async function signBlobs(url: string, account: PrivateKeyAccount, fields: BlobFields): Promise<Hex> {
  const maxFeePerBlobGas = 10n * gwei
  const filled = (await rpc(url, 'eth_fillTransaction', [
    {
      ...{ from: account.address, to: fields.to, value: numberToHex(fields.value), nonce: numberToHex(fields.nonce) },
      ...{ gas: numberToHex(fields.gas), maxFeePerGas: numberToHex(fields.maxFeePerGas) },
      ...{
        maxPriorityFeePerGas: numberToHex(fields.maxPriorityFeePerGas),
        maxFeePerBlobGas: numberToHex(maxFeePerBlobGas),
      },
      ...{ blobs: [`0x${'00'.repeat(131_072)}`] },
    },
  ])) as { readonly raw: Hex; readonly tx: { readonly blobVersionedHashes: readonly Hex[] } }
  const [, ...sidecar] = fromRlp(`0x${filled.raw.slice(4)}`, 'hex') as Hex[]
  const { blobVersionedHashes } = filled.tx
  const transaction = { ...fields, chainId, type: 'eip4844', maxFeePerBlobGas, blobVersionedHashes }
  const signed = await account.signTransaction(transaction as never)
  return concatHex(['0x03', toRlp([fromRlp(`0x${signed.slice(4)}`, 'hex'), ...sidecar] as never)])
}

// Contracts, in the instructions of the EVM

/** Returns its own code: the code after these nine bytes. */
const deployed = (code: string): Hex => `0x60${(code.length / 2).toString(16).padStart(2, '0')}8060095f395ff3${code}`
const callWithValue = '5f5f5f5f345f355af1'
export const contractCodes = {
  /** Sends the value of the call to the address in the call. */
  forward: deployed(`${callWithValue}00`),
  /** The same, and reverts afterwards. */
  revert: deployed(`${callWithValue}5f5ffd`),
  /** Creates a contract with the value of the call. */
  create: deployed('5f5f34f000'),
  /** Destroys itself in favour of the address in the call. */
  destroy: deployed('5f35ff'),
  /** Calls the first address with the second one and the value, and succeeds also if that call fails. */
  attempt: deployed('6020355f525f5f60205f345f355af100'),
} as const

export const wordOf = (address: string): Hex => pad(address as Hex)

// Requests of the execution layer

const depositAbi = parseAbi(['function deposit(bytes,bytes,bytes,bytes32) payable'])

/** `address`: of the withdrawals. */
export function depositOf(key: SecretKey, signer: Signer, prefix: 1 | 2, address: string, eth: bigint): Transaction {
  const pubkey = key.toPublicKey().toBytes()
  const withdrawalCredentials = credentialsOf(prefix, pubkey, address)
  const message = { pubkey, withdrawalCredentials, amount: Number(eth * gwei) }
  const signature = signer.sign(key, ssz.phase0.DepositMessage.hashTreeRoot(message), 'deposit')
  const root = ssz.phase0.DepositData.hashTreeRoot({ ...message, signature })
  const args = [hexOf(pubkey), hexOf(withdrawalCredentials), hexOf(signature), hexOf(root)] as const
  return { to: contracts.deposit, value: eth * ether, data: encodeFunctionData({ abi: depositAbi, args }) }
}

const pubkeyOf = (validator: number): Hex => hexOf(secretKeyOf(validator).toPublicKey().toBytes())
/** More than the fee, which rises with the number of requests. */
const requestFee = 1000n

/** 0 gwei: a full exit. */
export const withdrawalRequest = (validator: number, amountGwei: bigint): Transaction => ({
  to: contracts.withdrawalRequests,
  value: requestFee,
  data: concatHex([pubkeyOf(validator), numberToHex(amountGwei, { size: 8 })]),
})

/** The same validator twice: it becomes compounding. */
export const consolidationRequest = (source: number, target: number): Transaction => ({
  to: contracts.consolidationRequests,
  value: requestFee,
  data: concatHex([pubkeyOf(source), pubkeyOf(target)]),
})
