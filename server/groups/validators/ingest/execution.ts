// What a proposed block brought its proposer on the execution side: priority fees from the receipts, and the payment of a
// builder, which by custom is among the block's last transactions (decision 0109). Whom a builder pays is not on the chain: only
// the proposer's withdrawal address and the fee recipients in the settings are known. Where these do not settle it, the block is
// left out.
import type { NetworkSettings } from '#core/settings/validators.ts'
import type { Block } from '#io/beacon/block.ts'
import type { Clock } from '#io/clock.ts'
import type { RpcOutcome } from '#io/evm/outcomes.ts'
import { faultOf, isUnknownMethod, openRpc, type Rpc, type RpcCall } from '#io/evm/rpc.ts'
import type { ExecutionGwei } from './epoch.ts'

export interface ExecutionSource {
  /** By slot. Blocks of which it cannot be told are left out. `addressOf`: the proposer's withdrawal address. */
  read(
    blocks: readonly Block[],
    addressOf: (proposer: number) => string | undefined,
    signal: AbortSignal,
  ): Promise<ReadonlyMap<number, ExecutionGwei>>
}

const nothing: ExecutionGwei = { priorityFee: 0, baselineMev: 0, external: 0 }

/** undefined: no execution node is configured. */
export const openExecution = (
  { chainId, rpc, feeRecipients }: NetworkSettings['execution'],
  clock: Clock,
): ExecutionSource | undefined =>
  rpc.length > 0 ? executionFrom(openRpc({ chain: chainId, rpc, clock }), feeRecipients) : undefined

/** `feeRecipients`: addresses that proposers registered with builders. */
export function executionFrom(rpc: Rpc, feeRecipients: readonly string[] = []): ExecutionSource {
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
    async read(blocks, addressOf, signal) {
      const told = new Map(blocks.map(({ slot }) => [slot, nothing]))
      const paid = blocks.filter(({ payload }) => payload && payload.transactions > 0)
      if (paid.length === 0) return told
      const calls = paid.map(({ payload }): RpcCall => {
        return { method: 'eth_getBlockByHash', params: [payload?.hash, true], wrong: wrongBlock }
      })
      const bodies = (await rpc.results(calls, { signal })) as RpcBlock[]
      const receipts = await receiptsOf(bodies, signal)
      paid.forEach(({ slot, proposer }, at) => {
        const withdrawal = addressOf(proposer)
        const addresses = withdrawal === undefined ? feeRecipients : [withdrawal, ...feeRecipients]
        const gwei = gweiOf(bodies[at] as RpcBlock, receipts[at] as readonly RpcReceipt[], addresses)
        if (gwei) told.set(slot, gwei)
        else told.delete(slot)
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

const isOneOf = (addresses: readonly string[], address: string | null): boolean =>
  address !== null && addresses.some((one) => isSame(one, address))

const isSame = (one: string, other: unknown): boolean => one.toLowerCase() === String(other).toLowerCase()

const weiPerGwei = 1_000_000_000n

/** A builder's payment is the last transaction, or nearly: refunds to others may follow it. */
const lastTransactions = 3

/** Whole gwei, rounded down once per sum. `addresses`: the proposer's. Undefined: it is not known whose the fees are. */
export function gweiOf(
  { miner, baseFeePerGas, transactions }: Pick<RpcBlock, 'miner' | 'baseFeePerGas' | 'transactions'>,
  receipts: readonly RpcReceipt[],
  addresses: readonly string[],
): ExecutionGwei | undefined {
  const baseFee = BigInt(baseFeePerGas)
  const fees = receipts.reduce(
    (sum, { gasUsed, effectiveGasPrice }) => sum + BigInt(gasUsed) * (BigInt(effectiveGasPrice) - baseFee),
    0n,
  )
  const gwei = (wei: bigint) => Number(wei / weiPerGwei)
  const isOwn = isOneOf(addresses, miner)
  const at = paymentAt(transactions, addresses)
  const payment = at < 0 ? undefined : transactions[at]
  if (payment) {
    // One that was undone moved nothing (decision 0153).
    const paid = BigInt(receipts[at]?.status ?? 0) === 1n ? gwei(BigInt(payment.value)) : 0
    // The fees are the fee recipient's. A builder that kept them pays for them: they are the first part of the payment.
    const priorityFee = isOwn ? gwei(fees) : Math.min(gwei(fees), paid)
    return { priorityFee, baselineMev: isOwn ? paid : paid - priorityFee, external: paid }
  }
  // The last transaction may be the payment to an address that is not known.
  if (!isOwn && isTransfer(transactions.at(-1))) return undefined
  return { priorityFee: gwei(fees), baselineMev: 0, external: 0 }
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
