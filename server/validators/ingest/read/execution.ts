// Reads the execution rewards of proposers: priority fees from receipts, and the payment of a builder, which usually is
// one of the last transactions of the block (behaviour/validators.md#builder-payments). The chain does not record which
// address a builder pays. Known are the proposer's withdrawal address and the configured fee recipients; if these are
// not enough, the rewards of the block are unknown.

import type { Clock } from '#runtime/clock.ts'
import type { NetworkSettings } from '#runtime/settings/validators.ts'
import type { Block } from '#sources/beacon/block.ts'
import type { RpcOutcome } from '#sources/evm/batch-results.ts'
import { CallFault, isUnknownMethod, openRpc, type Rpc, type RpcCall } from '#sources/evm/rpc.ts'
import type { ExecutionRewards } from './epoch.ts'

export interface ExecutionSource {
  /** By slot; blocks with unknown rewards have no entry. `addressOf`: the proposer's withdrawal address. */
  read(
    blocks: readonly Block[],
    addressOf: (proposer: number) => string | undefined,
    signal: AbortSignal,
  ): Promise<ReadonlyMap<number, ExecutionRewards>>
}

const noRewards: ExecutionRewards = { priorityFee: 0, baselineMev: 0, external: 0 }

/** Undefined: no execution node is configured. */
export const openExecution = (
  { chainId, rpc, feeRecipients }: NetworkSettings['execution'],
  clock: Clock,
): ExecutionSource | undefined =>
  rpc.length > 0 ? createExecutionSource(openRpc({ chain: chainId, rpc, clock }), feeRecipients) : undefined

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
      const nonEmpty = blocks.filter(({ payload }) => payload && payload.transactions > 0)
      if (nonEmpty.length === 0) return rewards
      const calls = nonEmpty.flatMap(({ payload }) => payload ?? []).map(blockCall)
      const bodies = (await rpc.results(calls, { signal })) as RpcBlock[]
      const receipts = await receiptsOf(bodies, signal)
      nonEmpty.forEach(({ slot, proposer }, at) => {
        const withdrawal = addressOf(proposer)
        const addresses = withdrawal === undefined ? feeRecipients : [withdrawal, ...feeRecipients]
        const gwei = computeExecutionRewards(bodies[at] as RpcBlock, receipts[at] as readonly RpcReceipt[], addresses)
        if (gwei) rewards.set(slot, gwei)
        else rewards.delete(slot)
      })
      return rewards
    },
  }
}

const blockCall = (payload: Payload): RpcCall => ({
  method: 'eth_getBlockByHash',
  params: [payload.hash, true],
  validate: (result) => validateBlock(result, payload),
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

type Payload = NonNullable<Block['payload']>

interface RpcBlock {
  readonly hash: string
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

/** It must be the block that the beacon chain names. What the beacon block contains itself is compared. */
function validateBlock(result: unknown, payload: Payload): string | undefined {
  const { hash, miner, baseFeePerGas, transactions } = result as Partial<RpcBlock>
  const isComplete =
    isHex(hash) &&
    isHex(miner) &&
    isHex(baseFeePerGas) &&
    Array.isArray(transactions) &&
    transactions.every((transaction) => [transaction?.hash, transaction?.from, transaction?.value].every(isHex))
  if (!isComplete) return 'the block is incomplete'
  if (!isSameHex(payload.hash, hash)) return 'the block has another hash'
  if (!isSameHex(payload.feeRecipient, miner)) return 'the block has another fee recipient'
  if (BigInt(baseFeePerGas as string) !== payload.baseFeeWei) return 'the block has another base fee'
  return transactions.length === payload.transactions ? undefined : 'the block has another number of transactions'
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

/** Whole gwei, rounded down once per sum. `addresses`: those of the proposer. Undefined: the rewards are unknown. */
export function computeExecutionRewards(
  { miner, baseFeePerGas, transactions }: Pick<RpcBlock, 'miner' | 'baseFeePerGas' | 'transactions'>,
  receipts: readonly RpcReceipt[],
  addresses: readonly string[],
): ExecutionRewards | undefined {
  const baseFee = BigInt(baseFeePerGas)
  const fees = receipts.reduce(
    (sum, { gasUsed, effectiveGasPrice }) => sum + BigInt(gasUsed) * (BigInt(effectiveGasPrice) - baseFee),
    0n,
  )
  const toGwei = (wei: bigint) => Number(wei / weiPerGwei)
  const isOwn = isOneOf(addresses, miner)
  const at = paymentAt(transactions, addresses)
  const payment = at < 0 ? undefined : transactions[at]
  if (payment) {
    // A reverted payment transfers nothing.
    const paid = BigInt(receipts[at]?.status ?? 0) === 1n ? toGwei(BigInt(payment.value)) : 0
    // Fees go to the fee recipient. If that is the builder, its payment covers the fees first.
    const priorityFee = isOwn ? toGwei(fees) : Math.min(toGwei(fees), paid)
    return { priorityFee, baselineMev: isOwn ? paid : paid - priorityFee, external: paid }
  }
  // The last transaction may be the payment, to an unknown address of the proposer.
  if (!isOwn && isTransfer(transactions.at(-1))) return undefined
  return { priorityFee: toGwei(fees), baselineMev: 0, external: 0 }
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
