// What a proposed block brought its proposer on the execution side: priority fees from the receipts, and the payment of a
// builder, which by custom is among the block's last transactions (behaviour/validators.md#builder-payments). Whom a builder pays is not on the chain: only
// the proposer's withdrawal address and the fee recipients in the settings are known. Where these do not settle it, the block is
// left out.

import type { Clock } from '#runtime/clock.ts'
import type { NetworkSettings } from '#runtime/settings/validators.ts'
import type { Block } from '#sources/beacon/block.ts'
import type { RpcOutcome } from '#sources/evm/batch-results.ts'
import { faultOf, isUnknownMethod, openRpc, type Rpc, type RpcCall } from '#sources/evm/rpc.ts'
import type { ExecutionRewards } from './epoch.ts'

export interface ExecutionSource {
  /** By slot. Blocks of which it cannot be told are left out. `addressOf`: the proposer's withdrawal address. */
  read(
    blocks: readonly Block[],
    addressOf: (proposer: number) => string | undefined,
    signal: AbortSignal,
  ): Promise<ReadonlyMap<number, ExecutionRewards>>
}

const noRewards: ExecutionRewards = { priorityFee: 0, baselineMev: 0, external: 0 }

/** undefined: no execution node is configured. */
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
      const whole = await rpc.call(blocks.map(blockReceiptsCall), { signal })
      hasBlockReceipts = !whole.some(isUnknownMethod)
      if (hasBlockReceipts) return whole.map((one) => resultOrThrow<readonly RpcReceipt[]>(one))
    }
    const calls = blocks.map(({ transactions }) => transactions.map(receiptCall))
    const all = (await rpc.results(calls.flat(), { signal })) as RpcReceipt[]
    const receipts: RpcReceipt[][] = []
    for (const { length } of calls) receipts.push(all.splice(0, length))
    return receipts
  }
  return {
    async read(blocks, addressOf, signal) {
      const rewards = new Map(blocks.map(({ slot }) => [slot, noRewards]))
      const paid = blocks.filter(({ payload }) => payload && payload.transactions > 0)
      if (paid.length === 0) return rewards
      const calls = paid.map(({ payload }): RpcCall => {
        return { method: 'eth_getBlockByHash', params: [payload?.hash, true], validate: validateBlock }
      })
      const bodies = (await rpc.results(calls, { signal })) as RpcBlock[]
      const receipts = await receiptsOf(bodies, signal)
      paid.forEach(({ slot, proposer }, at) => {
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

/** Some nodes give a block's receipts only one by one. */
const blockReceiptsCall = ({ hash, transactions }: RpcBlock): RpcCall => ({
  method: 'eth_getBlockReceipts',
  params: [hash],
  validate: (result) => validateReceipts(result, transactions),
})

const receiptCall = (transaction: RpcTransaction): RpcCall => ({
  method: 'eth_getTransactionReceipt',
  params: [transaction.hash],
  validate: (result) => validateReceipts([result], [transaction]),
})

function resultOrThrow<T>(outcome: RpcOutcome): T {
  if (outcome.is === 'result') return outcome.result as T
  throw faultOf(outcome)
}

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
  /** `0x1`: it was not undone. */
  readonly status: string
  readonly gasUsed: string
  readonly effectiveGasPrice: string
}

const isHex = (value: unknown): boolean => typeof value === 'string' && /^0x[0-9a-f]+$/i.test(value)

function validateBlock(result: unknown): string | undefined {
  const { hash, miner, baseFeePerGas, transactions } = result as Partial<RpcBlock>
  const isWhole =
    isHex(hash) &&
    isHex(miner) &&
    isHex(baseFeePerGas) &&
    Array.isArray(transactions) &&
    transactions.every((one) => isHex(one?.hash) && isHex(one?.from) && isHex(one?.value))
  return isWhole ? undefined : 'the block is not complete'
}

/** One a transaction, in their order: which of them is the last one's matters. */
function validateReceipts(result: unknown, transactions: readonly RpcTransaction[]): string | undefined {
  if (!Array.isArray(result) || result.length !== transactions.length) return 'the receipts are not complete'
  const isWhole = result.every((one) => [one?.gasUsed, one?.effectiveGasPrice, one?.status].every(isHex))
  if (!isWhole) return 'the receipts are not complete'
  const isInOrder = transactions.every(({ hash }, at) => isSameHex(hash, result[at].transactionHash))
  return isInOrder ? undefined : 'the receipts are not those of the transactions'
}

const isOneOf = (addresses: readonly string[], address: string | null): boolean =>
  address !== null && addresses.some((one) => isSameHex(one, address))

const isSameHex = (one: string, other: unknown): boolean => one.toLowerCase() === String(other).toLowerCase()

const weiPerGwei = 1_000_000_000n

/** A builder's payment is the last transaction, or nearly: refunds to others may follow it. */
const lastTransactions = 3

/** Whole gwei, rounded down once per sum. `addresses`: the proposer's. Undefined: it is not known whose the fees are. */
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
    // One that was undone moved nothing (behaviour/validators.md#builder-payments).
    const paid = BigInt(receipts[at]?.status ?? 0) === 1n ? toGwei(BigInt(payment.value)) : 0
    // The fees are the fee recipient's. A builder that kept them pays for them: they are the first part of the payment.
    const priorityFee = isOwn ? toGwei(fees) : Math.min(toGwei(fees), paid)
    return { priorityFee, baselineMev: isOwn ? paid : paid - priorityFee, external: paid }
  }
  // The last transaction may be the payment to an address that is not known.
  if (!isOwn && isTransfer(transactions.at(-1))) return undefined
  return { priorityFee: toGwei(fees), baselineMev: 0, external: 0 }
}

/** The last transfer to one of the addresses by another account, among the block's last transactions; −1: there is none. */
function paymentAt(transactions: readonly RpcTransaction[], addresses: readonly string[]): number {
  const at = transactions.findLastIndex(
    ({ from, to, value }) => isOneOf(addresses, to) && !isOneOf(addresses, from) && BigInt(value) > 0n,
  )
  return at >= transactions.length - lastTransactions ? at : -1
}

/** Value that goes somewhere without a call. */
const isTransfer = (one: RpcTransaction | undefined): boolean =>
  one?.to != null && BigInt(one.value) > 0n && (one.input ?? '0x') === '0x'
