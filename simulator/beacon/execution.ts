// A simulated execution node: JSON-RPC over HTTP with the methods that ingest uses to read fees, builder payments and
// deposits. Its data comes from the payloads of the simulated beacon chain.
import { hex } from '../evm/encode.ts'
import type { JsonRpcRequest } from '../evm/node.ts'
import { type SimulatedServer, sendJson, startSimulatedServer } from '../listen.ts'
import { slotIn } from './payload.ts'
import { depositContract } from './plan.ts'
import type { EpochRecord, SimulatedBlock, SimulatedDeposit, SimulatedNetwork, SimulatedPayload } from './records.ts'
import { u64 } from './ssz-writer.ts'

export function openExecution(
  network: SimulatedNetwork,
  chainId: string,
  options: ExecutionOptions = {},
): Promise<SimulatedServer> {
  const respond = createExecutionResponder(network, chainId, options)
  return startSimulatedServer(async (_, text, response) => sendJson(response, 200, await respond(text)))
}

/** keccak256 of `DepositEvent(bytes,bytes,bytes,bytes,bytes)`. */
const depositTopic = '0x649bbc62d0e31342afea4e5cd82d4049e7e1ee912fc0889aa790803be39038c5'
/** The hash of a deposit transaction is this prefix and the number of the deposit. */
const depositPrefix = `0x${'dd'.repeat(28)}`

interface Filter {
  readonly address: string
  readonly fromBlock: string
  readonly toBlock: string
}

export interface ExecutionOptions {
  /** Without it, the node returns receipts one by one only. */
  readonly hasBlockReceipts?: boolean
  /** What eth_call returns. Default: there are no contracts. */
  readonly call?: (request: ContractCall, pubkeyOf: PubkeyOf) => Promise<string | undefined>
}

export interface ContractCall {
  readonly to?: string
  readonly data: string
}

/** The public key of a validator of the network. */
export type PubkeyOf = (index: number) => Promise<string>

/** The node without a server: returns the response to the body of a request. */
export function createExecutionResponder(
  network: SimulatedNetwork,
  chainId: string,
  { hasBlockReceipts = true, call }: ExecutionOptions = {},
): (body: string) => Promise<string> {
  const epochOf = async (slot: number): Promise<EpochRecord | undefined> =>
    network.epoch(Math.floor(slot / network.plan.slotsPerEpoch))

  async function readPayload<T>(
    hash: string,
    show: (payload: SimulatedPayload, parentHash?: string) => T,
  ): Promise<T | null> {
    const block = await blockWith(hash)
    return block ? show(block.payload, block.gloas?.bid.parentHash) : null
  }

  /** A payload that was published too late is known too. */
  async function blockWith(hash: string): Promise<SimulatedBlock | undefined> {
    const slot = slotIn(hash)
    const block = (await epochOf(slot))?.blocks.get(slot)
    return block?.payload.hash === hash && block.gloas?.delivery !== 'withheld' ? block : undefined
  }

  async function findReceipt(transaction: string): Promise<unknown> {
    for (let epoch = 0; ; epoch++) {
      const record = await network.epoch(epoch)
      if (!record) return null
      for (const { payload } of record.blocks.values()) {
        const found = receiptsJson(payload).find(({ transactionHash }) => transactionHash === transaction)
        if (found) return found
      }
    }
  }

  /** The last block before the finalized epoch, and the record of its epoch. */
  async function findFinalized(): Promise<
    { readonly block: SimulatedBlock; readonly record: EpochRecord } | undefined
  > {
    const head = await epochOf(network.headSlot)
    for (let epoch = (head?.states[0]?.finalized ?? 0) - 1; epoch >= 0; epoch--) {
      const record = await network.epoch(epoch)
      const block = [...(record?.blocks.values() ?? [])].at(-1)
      if (record && block) return { block, record }
    }
    return undefined
  }

  async function readFinal(): Promise<unknown> {
    const { genesisUnix, plan } = network
    const finalized = (await findFinalized())?.block
    // Since Gloas, the payload of the finalized block itself is not final.
    const parentHash = finalized?.gloas?.bid.parentHash
    const block = parentHash === undefined ? finalized : await blockWith(parentHash)
    return block ? blockJson(block.payload, genesisUnix + block.slot * plan.slotSeconds) : null
  }

  /** One of the last blocks before the finalized epoch. */
  async function readNumbered(number: number): Promise<unknown> {
    const { genesisUnix, plan } = network
    for (let epoch = Math.floor(network.headSlot / plan.slotsPerEpoch); epoch >= 0; epoch--) {
      const blocks = [...((await network.epoch(epoch))?.blocks.values() ?? [])]
      const block = blocks.find(({ payload }) => payload.number === number)
      if (block) return blockJson(block.payload, genesisUnix + block.slot * plan.slotSeconds)
      if (blocks.some(({ payload }) => payload.number < number)) return null
    }
    return null
  }

  const pubkeyOf: PubkeyOf = async (index) =>
    (await epochOf(network.headSlot))?.states[0]?.validators[index]?.pubkey ?? ''

  const readDeposits = async (): Promise<readonly SimulatedDeposit[]> => (await findFinalized())?.record.deposits ?? []

  async function readLogs({ address, fromBlock, toBlock }: Filter): Promise<unknown[]> {
    if (address.toLowerCase() !== depositContract) return []
    return (await readDeposits()).flatMap((deposit, number) =>
      deposit.block >= Number(fromBlock) && deposit.block <= Number(toBlock) ? [logJson(deposit, number)] : [],
    )
  }

  async function readSender(hash: string): Promise<unknown> {
    const number = hash.startsWith(depositPrefix) ? slotIn(hash) : -1
    const deposit = (await readDeposits())[number]
    return deposit ? { hash, from: deposit.from, to: depositContract, value: hex(deposit.gwei * 10n ** 9n) } : null
  }

  const methods: Readonly<Record<string, (first: unknown) => unknown>> = {
    eth_chainId: () => hex(BigInt(chainId)),
    eth_getBlockByNumber: (first) =>
      first === 'finalized' ? readFinal() : /^0x/.test(String(first)) ? readNumbered(Number(first)) : null,
    eth_getBlockByHash: (first) =>
      readPayload(String(first), (payload, parentHash) => blockJson(payload, 0, parentHash)),
    eth_getBlockReceipts: (first) => (hasBlockReceipts ? readPayload(String(first), receiptsJson) : undefined),
    eth_getTransactionReceipt: (first) => findReceipt(String(first)),
    eth_call: (first) => call?.(first as ContractCall, pubkeyOf),
    eth_getLogs: (first) => readLogs(first as Filter),
    eth_getTransactionByHash: (first) => readSender(String(first)),
  }

  async function reply({ id, method, params }: JsonRpcRequest) {
    const result = await methods[method]?.(params[0])
    return result === undefined
      ? { jsonrpc: '2.0', id, error: { code: -32601, message: `the method ${method} does not exist` } }
      : { jsonrpc: '2.0', id, result }
  }

  return async (body) => {
    const requests = JSON.parse(body) as JsonRpcRequest | JsonRpcRequest[]
    return JSON.stringify(await (Array.isArray(requests) ? Promise.all(requests.map(reply)) : reply(requests)))
  }
}

const hashOf = (block: number): string => `0x${block.toString(16).padStart(64, '0')}`

const blockJson = (payload: SimulatedPayload, timeUnix = 0, parentHash = hashOf(payload.number - 1)) => ({
  number: hex(payload.number),
  hash: payload.hash,
  parentHash,
  timestamp: hex(timeUnix),
  miner: payload.feeRecipient,
  baseFeePerGas: hex(payload.baseFeeWei),
  transactions: payload.transactions.map(({ hash, from, to, valueWei, input }) => ({
    hash,
    from,
    to,
    input,
    value: hex(valueWei),
  })),
})

const receiptsJson = ({ transactions, baseFeeWei }: SimulatedPayload) =>
  transactions.map(({ hash, gasUsed, tipWei }) => ({
    transactionHash: hash,
    gasUsed: hex(gasUsed),
    effectiveGasPrice: hex(baseFeeWei + tipWei),
    status: '0x1',
  }))

function logJson({ pubkey, credentials, gwei, block }: SimulatedDeposit, number: number) {
  const littleEndian = (value: number | bigint) => u64(value).toString('hex')
  const fields = [pubkey.slice(2), credentials.slice(2), littleEndian(gwei), '00'.repeat(96), littleEndian(number)]
  return {
    address: depositContract,
    topics: [depositTopic],
    data: eventData(fields),
    blockNumber: hex(block),
    blockHash: hashOf(block),
    transactionHash: `${depositPrefix}${number.toString(16).padStart(8, '0')}`,
    transactionIndex: '0x0',
    logIndex: hex(number),
    removed: false,
  }
}

/** ABI encoding of five `bytes`: the offset of each, then the length and the padded bytes of each. */
function eventData(fields: readonly string[]): string {
  const word = (value: number) => value.toString(16).padStart(64, '0')
  const parts = fields.map((field) => word(field.length / 2) + field.padEnd(Math.ceil(field.length / 64) * 64, '0'))
  let at = fields.length * 32
  const heads = parts.map((part) => {
    at += part.length / 2
    return word(at - part.length / 2)
  })
  return `0x${heads.join('')}${parts.join('')}`
}
