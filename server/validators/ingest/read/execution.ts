// Reads the execution rewards of proposers: priority fees from receipts, and the payment of a builder, which usually is
// one of the last transactions of the block (behaviour/validators.md#builder-payments). The chain does not record which
// address a builder pays. Known are the proposer's withdrawal address and the configured fee recipients; if these are
// not enough, the rewards of the block are unknown. Since Gloas, a block names the address of its proposer, and what its
// builder pays from its balance.

import type { Network } from '#api/contract/wire/validators.ts'
import type { Clock } from '#runtime/clock.ts'
import type { NetworkSettings } from '#runtime/settings/validators.ts'
import type { Bid, Block } from '#sources/beacon/block.ts'
import { ContradictionError } from '#sources/beacon/client.ts'
import { type ConsensusRules, epochAt } from '#sources/beacon/consensus.ts'
import type { Chain } from '#sources/beacon/endpoint.ts'
import { payloadHashOf, payloadStatus } from '#sources/beacon/payload-status.ts'
import type { RpcOutcome } from '#sources/evm/batch-results.ts'
import { CallFault, isUnknownMethod, type Rpc, type RpcCall } from '#sources/evm/rpc.ts'
import { describeOtherChain, openNetworkRpc } from '../../network-rpc.ts'
import { chainOf, type EpochData, type ExecutionRewards } from './epoch.ts'
import type { PayloadSummary } from './payloads.ts'

/** A block whose payload is part of the chain. */
export interface ExecutedBlock extends Pick<Block, 'slot' | 'proposer' | 'payload' | 'bid'> {
  /** Since Gloas: the payload from its envelope, if the node has it. */
  readonly published?: PayloadSummary | undefined
}

/** The blocks of an epoch whose payloads are part of the chain. */
export function executedBlocks(rules: ConsensusRules, data: ExecutedEpoch): ExecutedBlock[] {
  const chain = chainOf(data)
  return chain.flatMap((block, at) => {
    const isExecuted = epochAt(rules, block.slot) === data.epoch && payloadStatus(block, chain[at + 1]) === 'full'
    return isExecuted ? [{ ...block, published: data.payloads?.get(block.root) }] : []
  })
}

type ExecutedEpoch = Pick<EpochData, 'epoch' | 'blocks' | 'parent' | 'child' | 'payloads'>

export interface ExecutionSource {
  /** By slot; blocks with unknown rewards have no entry. `addressOf`: the proposer's withdrawal address. */
  read(
    blocks: readonly ExecutedBlock[],
    addressOf: (proposer: number) => string | undefined,
    signal: AbortSignal,
  ): Promise<ReadonlyMap<number, ExecutionRewards>>
}

const noRewards: ExecutionRewards = { priorityFee: 0, baselineMev: 0, external: 0 }

/** Undefined: no execution node is configured. The beacon nodes are asked for their chain when blocks are first read. */
export function openExecution(
  network: Network,
  { feeRecipients, ...execution }: NetworkSettings['execution'],
  clock: Clock,
  readChain: (signal: AbortSignal) => Promise<Pick<Chain, 'identity'>>,
): ExecutionSource | undefined {
  if (execution.rpc.length === 0) return undefined
  let opened: { readonly client: Rpc; readonly source: ExecutionSource } | undefined
  const open = ({ identity }: Pick<Chain, 'identity'>) => {
    const client = openNetworkRpc(network, execution, identity, clock)
    return { client, source: createExecutionSource(client, feeRecipients) }
  }
  return {
    async read(blocks, addressOf, signal) {
      opened ??= open(await readChain(signal))
      try {
        return await opened.source.read(blocks, addressOf, signal)
      } catch (error) {
        throw describeOtherChain(network, opened.client) ?? error
      }
    },
  }
}

/** `feeRecipients`: addresses that proposers registered with builders. */
export function createExecutionSource(rpc: Rpc, feeRecipients: readonly string[] = []): ExecutionSource {
  let hasBlockReceipts = true
  const receiptsOf = async (blocks: readonly RpcBlock[], signal: AbortSignal): Promise<(readonly RpcReceipt[])[]> => {
    if (hasBlockReceipts) {
      const outcomes = await rpc.call(blocks.map(blockReceiptsCall), { signal })
      hasBlockReceipts = !outcomes.some(isUnknownMethod)
      if (hasBlockReceipts) return outcomes.map((outcome) => resultOrThrow<readonly RpcReceipt[]>(outcome))
    }
    const calls = blocks.map((block) => block.transactions.map((transaction) => receiptCall(transaction, block)))
    const all = (await rpc.results(calls.flat(), { signal })) as RpcReceipt[]
    const receipts: RpcReceipt[][] = []
    for (const { length } of calls) receipts.push(all.splice(0, length))
    return receipts
  }
  return {
    async read(blocks, addressOf, signal) {
      const rewards = new Map(blocks.map(({ slot }) => [slot, noRewards]))
      const nonEmpty = blocks.filter(({ payload, bid }) => bid || (payload && payload.transactions > 0))
      if (nonEmpty.length === 0) return rewards
      const bodies = await readBodies(rpc, nonEmpty, signal)
      const receipts = await receiptsOf(bodies, signal)
      nonEmpty.forEach(({ slot, proposer, bid }, at) => {
        const addresses = [addressOf(proposer), bid?.feeRecipient, ...feeRecipients].filter(
          (known) => known !== undefined,
        )
        const of = [bodies[at] as RpcBlock, receipts[at] as readonly RpcReceipt[], addresses] as const
        const gwei = bid?.builder === undefined ? computeExecutionRewards(...of) : computeBidRewards(bid, ...of)
        if (gwei) rewards.set(slot, gwei)
        else rewards.delete(slot)
      })
      return rewards
    },
  }
}

/**
 * Envelopes are not part of a block, so nothing but the execution node proves them. If the two differ whichever execution
 * node answers, a beacon node may be wrong: other beacon nodes are asked for the epoch.
 */
async function readBodies(rpc: Rpc, blocks: readonly ExecutedBlock[], signal: AbortSignal): Promise<RpcBlock[]> {
  try {
    return (await rpc.results(blocks.map(blockCall), { signal })) as RpcBlock[]
  } catch (error) {
    if (blocks.every(({ published }) => published === undefined)) throw error
    const unpublished = blocks.map((block) => ({ ...block, published: undefined }))
    const bodies = (await rpc.results(unpublished.map(blockCall), { signal })) as RpcBlock[]
    for (const [at, block] of blocks.entries()) {
      const problem = validateBlock(bodies[at], block)
      if (problem === undefined) continue
      throw new ContradictionError(`slot ${block.slot}: compared with the envelope of its payload, ${problem}`)
    }
    return bodies
  }
}

const blockCall = (block: ExecutedBlock): RpcCall => ({
  method: 'eth_getBlockByHash',
  params: [payloadHashOf(block), true],
  validate: (result) => validateBlock(result, block),
})

/** Nodes without this method are asked for single receipts. */
const blockReceiptsCall = ({ hash, transactions, baseFeePerGas }: RpcBlock): RpcCall => ({
  method: 'eth_getBlockReceipts',
  params: [hash],
  validate: (result) => validateReceipts(result, transactions, baseFeePerGas),
})

const receiptCall = (transaction: RpcTransaction, { baseFeePerGas }: RpcBlock): RpcCall => ({
  method: 'eth_getTransactionReceipt',
  params: [transaction.hash],
  validate: (result) => validateReceipts([result], [transaction], baseFeePerGas),
})

function resultOrThrow<T>(outcome: RpcOutcome): T {
  if (outcome.is === 'result') return outcome.result as T
  throw new CallFault(outcome)
}

interface RpcBlock {
  readonly hash: string
  readonly parentHash: string
  readonly miner: string
  readonly baseFeePerGas: string
  readonly transactions: readonly RpcTransaction[]
}

interface RpcTransaction {
  readonly hash: string
  readonly from: string
  readonly to: string | null
  readonly value: string
  readonly input?: string
}

interface RpcReceipt {
  readonly transactionHash: string
  /** `0x1`: success; `0x0`: reverted. */
  readonly status: string
  readonly gasUsed: string
  readonly effectiveGasPrice: string
}

const isHex = (value: unknown): boolean => typeof value === 'string' && /^0x[0-9a-f]+$/i.test(value)

/** It must be the block that the beacon chain names. What the beacon block or the envelope contains is compared. */
function validateBlock(result: unknown, { payload, bid, published }: ExecutedBlock): string | undefined {
  const { hash, miner, parentHash, baseFeePerGas, transactions } = (result ?? {}) as Partial<RpcBlock>
  const isComplete =
    isHex(hash) &&
    isHex(miner) &&
    isHex(baseFeePerGas) &&
    Array.isArray(transactions) &&
    transactions.every((transaction) => [transaction?.hash, transaction?.from, transaction?.value].every(isHex))
  if (!isComplete) return 'the block is incomplete'
  if (!isSameHex(payloadHashOf({ bid, payload }) ?? '', hash)) return 'the block has another hash'
  if (bid && !isSameHex(bid.parentBlockHash, parentHash)) return 'the block has another parent'
  const expected = payload ?? published
  if (!expected) return undefined
  if (!isSameHex(expected.feeRecipient, miner)) return 'the block has another fee recipient'
  if (BigInt(baseFeePerGas as string) !== expected.baseFeeWei) return 'the block has another base fee'
  return transactions.length === expected.transactions ? undefined : 'the block has another number of transactions'
}

/** There must be one per transaction, in the same order, because the last ones are treated differently. */
function validateReceipts(
  result: unknown,
  transactions: readonly RpcTransaction[],
  baseFeePerGas: string,
): string | undefined {
  if (!Array.isArray(result) || result.length !== transactions.length) return 'the receipts are incomplete'
  const isComplete = result.every((receipt) =>
    [receipt?.gasUsed, receipt?.effectiveGasPrice, receipt?.status].every(isHex),
  )
  if (!isComplete) return 'the receipts are incomplete'
  const isInOrder = transactions.every(({ hash }, at) => isSameHex(hash, result[at].transactionHash))
  if (!isInOrder) return 'the receipts do not match the transactions'
  const paysBaseFee = result.every(({ effectiveGasPrice }) => BigInt(effectiveGasPrice) >= BigInt(baseFeePerGas))
  return paysBaseFee ? undefined : 'a gas price is below the base fee'
}

const isOneOf = (addresses: readonly string[], address: string | null): boolean =>
  address !== null && addresses.some((candidate) => isSameHex(candidate, address))

const isSameHex = (a: string, b: unknown): boolean => a.toLowerCase() === String(b).toLowerCase()

const weiPerGwei = 1_000_000_000n

/** The payment of a builder is among the last transactions: refunds to others may follow it. */
const lastTransactions = 3

const toGwei = (wei: bigint): number => Number(wei / weiPerGwei)

function feesOf(baseFeePerGas: string, receipts: readonly RpcReceipt[]): number {
  const baseFee = BigInt(baseFeePerGas)
  const paid = ({ gasUsed, effectiveGasPrice }: RpcReceipt) => BigInt(gasUsed) * (BigInt(effectiveGasPrice) - baseFee)
  return toGwei(receipts.reduce((sum, receipt) => sum + paid(receipt), 0n))
}

type RewardedBlock = Pick<RpcBlock, 'miner' | 'baseFeePerGas' | 'transactions'>

/** Gwei of the payment among the last transactions; undefined: there is none. A reverted payment transfers nothing. */
function paymentIn(
  { transactions }: RewardedBlock,
  receipts: readonly RpcReceipt[],
  addresses: readonly string[],
): number | undefined {
  const at = paymentAt(transactions, addresses)
  const payment = transactions[at]
  return payment && (BigInt(receipts[at]?.status ?? 0) === 1n ? toGwei(BigInt(payment.value)) : 0)
}

/**
 * Since Gloas, if a builder delivered the payload: it pays the value of its bid from its balance. It may also have promised
 * a transaction. Undefined: there is no such transaction.
 */
export function computeBidRewards(
  { value, executionPayment }: Pick<Bid, 'value' | 'executionPayment'>,
  block: RewardedBlock,
  receipts: readonly RpcReceipt[],
  addresses: readonly string[],
): ExecutionRewards | undefined {
  const payment = paymentIn(block, receipts, addresses)
  if (payment === undefined && executionPayment > 0) return undefined
  return splitPayment(block, feesOf(block.baseFeePerGas, receipts), value + (payment ?? 0), addresses)
}

/** Fees go to the fee recipient. If that is the builder, its payment covers the fees first. */
function splitPayment(
  { miner }: RewardedBlock,
  fees: number,
  paid: number,
  addresses: readonly string[],
): ExecutionRewards {
  const isOwn = isOneOf(addresses, miner)
  const priorityFee = isOwn ? fees : Math.min(fees, paid)
  return { priorityFee, baselineMev: isOwn ? paid : paid - priorityFee, external: paid }
}

/** Whole gwei, rounded down once per sum. `addresses`: those of the proposer. Undefined: the rewards are unknown. */
export function computeExecutionRewards(
  block: RewardedBlock,
  receipts: readonly RpcReceipt[],
  addresses: readonly string[],
): ExecutionRewards | undefined {
  const fees = feesOf(block.baseFeePerGas, receipts)
  const payment = paymentIn(block, receipts, addresses)
  if (payment !== undefined) return splitPayment(block, fees, payment, addresses)
  // The last transaction may be the payment, to an unknown address of the proposer.
  if (!isOneOf(addresses, block.miner) && isTransfer(block.transactions.at(-1))) return undefined
  return { priorityFee: fees, baselineMev: 0, external: 0 }
}

/**
 * Index of the last transfer from another account to one of the addresses, if it is among the last transactions; or −1.
 */
function paymentAt(transactions: readonly RpcTransaction[], addresses: readonly string[]): number {
  const at = transactions.findLastIndex(
    ({ from, to, value }) => isOneOf(addresses, to) && !isOneOf(addresses, from) && BigInt(value) > 0n,
  )
  return at >= transactions.length - lastTransactions ? at : -1
}

/** A transfer of value without a contract call. */
const isTransfer = (transaction: RpcTransaction | undefined): boolean =>
  transaction?.to != null && BigInt(transaction.value) > 0n && (transaction.input ?? '0x') === '0x'
