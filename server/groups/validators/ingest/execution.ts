// What a proposed block brought its proposer on the execution side: priority fees from the receipts, and the payment of a
// builder, which by custom is the block's last transaction, from the fee recipient to the proposer (decision 0109).
import type { Block } from '#io/beacon/block.ts'
import type { RpcOutcome } from '#io/evm/outcomes.ts'
import { faultOf, isUnknownMethod, type Rpc, type RpcCall } from '#io/evm/rpc.ts'
import type { ExecutionGwei } from './epoch.ts'

export interface ExecutionSource {
  /** By slot, for every block of the list. */
  read(blocks: readonly Block[], signal: AbortSignal): Promise<ReadonlyMap<number, ExecutionGwei>>
}

const nothing: ExecutionGwei = { priorityFee: 0, baselineMev: 0, external: 0 }

export function executionFrom(rpc: Rpc): ExecutionSource {
  let hasBlockReceipts = true
  const receiptsOf = async (blocks: readonly RpcBlock[], signal: AbortSignal): Promise<(readonly RpcReceipt[])[]> => {
    if (hasBlockReceipts) {
      const whole = await rpc.ask(blocks.map(wholeCall), { signal })
      hasBlockReceipts = !whole.some(isUnknownMethod)
      if (hasBlockReceipts) return whole.map((one) => resultOf<readonly RpcReceipt[]>(one))
    }
    const calls = blocks.map(({ transactions }) => transactions.map(singleCall))
    const all = (await rpc.results(calls.flat(), { signal })) as RpcReceipt[]
    const receipts: RpcReceipt[][] = []
    for (const { length } of calls) receipts.push(all.splice(0, length))
    return receipts
  }
  return {
    async read(blocks, signal) {
      const told = new Map(blocks.map(({ slot }) => [slot, nothing]))
      const paid = blocks.filter(({ payload }) => payload && payload.transactions > 0)
      if (paid.length === 0) return told
      const calls = paid.map(({ payload }): RpcCall => {
        return { method: 'eth_getBlockByHash', params: [payload?.hash, true], wrong: wrongBlock }
      })
      const bodies = (await rpc.results(calls, { signal })) as RpcBlock[]
      const receipts = await receiptsOf(bodies, signal)
      paid.forEach(({ slot }, at) => {
        told.set(slot, gweiOf(bodies[at] as RpcBlock, receipts[at] as readonly RpcReceipt[]))
      })
      return told
    },
  }
}

/** Some nodes give a block's receipts only one by one. */
const wholeCall = ({ hash, transactions }: RpcBlock): RpcCall => ({
  method: 'eth_getBlockReceipts',
  params: [hash],
  wrong: (result) => wrongReceipts(result, transactions),
})

const singleCall = (transaction: RpcTransaction): RpcCall => ({
  method: 'eth_getTransactionReceipt',
  params: [transaction.hash],
  wrong: (result) => wrongReceipts([result], [transaction]),
})

function resultOf<T>(outcome: RpcOutcome): T {
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
}

interface RpcReceipt {
  readonly transactionHash: string
  /** `0x1`: it was not undone. */
  readonly status: string
  readonly gasUsed: string
  readonly effectiveGasPrice: string
}

const isHex = (value: unknown): boolean => typeof value === 'string' && /^0x[0-9a-f]+$/i.test(value)

function wrongBlock(result: unknown): string | undefined {
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
function wrongReceipts(result: unknown, transactions: readonly RpcTransaction[]): string | undefined {
  if (!Array.isArray(result) || result.length !== transactions.length) return 'the receipts are not complete'
  const isWhole = result.every((one) => [one?.gasUsed, one?.effectiveGasPrice, one?.status].every(isHex))
  if (!isWhole) return 'the receipts are not complete'
  const isInOrder = transactions.every(({ hash }, at) => isSame(hash, result[at].transactionHash))
  return isInOrder ? undefined : 'the receipts are not those of the transactions'
}

const isSame = (one: string, other: unknown): boolean => one.toLowerCase() === String(other).toLowerCase()

const weiPerGwei = 1_000_000_000n

/** Whole gwei, rounded down once per sum. */
export function gweiOf(
  block: Pick<RpcBlock, 'miner' | 'baseFeePerGas' | 'transactions'>,
  receipts: readonly RpcReceipt[],
): ExecutionGwei {
  const baseFee = BigInt(block.baseFeePerGas)
  const fees = receipts.reduce(
    (sum, { gasUsed, effectiveGasPrice }) => sum + BigInt(gasUsed) * (BigInt(effectiveGasPrice) - baseFee),
    0n,
  )
  const last = block.transactions.at(-1)
  const isPayment = last?.to != null && isSame(last.from, block.miner) && BigInt(last.value) > 0n
  const gwei = (wei: bigint) => Number(wei / weiPerGwei)
  if (!last || !isPayment) return { priorityFee: gwei(fees), baselineMev: 0, external: 0 }
  // The fees went to the builder; the proposer has the payment, of which the fees are the first part.
  // One that was undone moved nothing (decision 0153).
  const isDone = BigInt(receipts.at(-1)?.status ?? 0) === 1n
  const payment = isDone ? gwei(BigInt(last.value)) : 0
  const priorityFee = Math.min(gwei(fees), payment)
  return { priorityFee, baselineMev: payment - priorityFee, external: payment }
}
