// What a proposed block brought its proposer on the execution side: priority fees from the receipts, and the payment of a
// builder, which by custom is the block's last transaction, from the fee recipient to the proposer (decision 0109).
import type { Block } from '#io/beacon/block.ts'
import type { Rpc, RpcCall } from '#io/evm/rpc.ts'
import type { ExecutionGwei } from './refine.ts'

export interface ExecutionSource {
  /** By slot, for every block of the list. */
  read(blocks: readonly Block[], signal: AbortSignal): Promise<ReadonlyMap<number, ExecutionGwei>>
}

const nothing: ExecutionGwei = { priorityFee: 0, baselineMev: 0, external: 0 }

export function executionFrom(rpc: Rpc): ExecutionSource {
  return {
    async read(blocks, signal) {
      const paid = blocks.filter(({ payload }) => payload && payload.transactions > 0)
      const calls = paid.flatMap(({ payload }): RpcCall[] => [
        { method: 'eth_getBlockByHash', params: [payload?.hash, true], wrong: wrongBlock },
        { method: 'eth_getBlockReceipts', params: [payload?.hash], wrong: wrongReceipts },
      ])
      const results = await rpc.results(calls, { signal })
      const told = new Map(blocks.map(({ slot }) => [slot, nothing]))
      paid.forEach(({ slot }, at) => {
        told.set(slot, gweiOf(results[2 * at] as RpcBlock, results[2 * at + 1] as readonly RpcReceipt[]))
      })
      return told
    },
  }
}

interface RpcBlock {
  readonly miner: string
  readonly baseFeePerGas: string
  readonly transactions: readonly { readonly from: string; readonly to: string | null; readonly value: string }[]
}

interface RpcReceipt {
  readonly gasUsed: string
  readonly effectiveGasPrice: string
}

const isHex = (value: unknown): boolean => typeof value === 'string' && /^0x[0-9a-f]+$/i.test(value)

function wrongBlock(result: unknown): string | undefined {
  const { miner, baseFeePerGas, transactions } = result as Partial<RpcBlock>
  const isWhole =
    isHex(miner) &&
    isHex(baseFeePerGas) &&
    Array.isArray(transactions) &&
    transactions.every((one) => isHex(one?.from) && isHex(one?.value))
  return isWhole ? undefined : 'the block is not complete'
}

function wrongReceipts(result: unknown): string | undefined {
  const isWhole = Array.isArray(result) && result.every((one) => isHex(one?.gasUsed) && isHex(one?.effectiveGasPrice))
  return isWhole ? undefined : 'the receipts are not complete'
}

const weiPerGwei = 1_000_000_000n

/** Whole gwei, rounded down once per sum. */
export function gweiOf(block: RpcBlock, receipts: readonly RpcReceipt[]): ExecutionGwei {
  const baseFee = BigInt(block.baseFeePerGas)
  const fees = receipts.reduce(
    (sum, { gasUsed, effectiveGasPrice }) => sum + BigInt(gasUsed) * (BigInt(effectiveGasPrice) - baseFee),
    0n,
  )
  const last = block.transactions.at(-1)
  const isPayment = last?.to != null && last.from.toLowerCase() === block.miner.toLowerCase() && BigInt(last.value) > 0n
  const gwei = (wei: bigint) => Number(wei / weiPerGwei)
  if (!last || !isPayment) return { priorityFee: gwei(fees), baselineMev: 0, external: 0 }
  // The fees went to the builder; the proposer has the payment, of which the fees are the first part.
  const payment = gwei(BigInt(last.value))
  const priorityFee = Math.min(gwei(fees), payment)
  return { priorityFee, baselineMev: payment - priorityFee, external: payment }
}
