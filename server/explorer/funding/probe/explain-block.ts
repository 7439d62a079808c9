// Checks that a block explains how it changed an account, and names the first transfer to the account in it. Without
// this check a wrong state or an incomplete trace would become a wrong first funding.
import { recoverAuthority } from '#sources/evm/authorizations.ts'
import type { Account, Block, BlockWithExecution } from '#sources/evm/types.ts'
import { isQuantity } from '#sources/evm/validate.ts'
import type { Funding } from '../fundings.ts'
import { fundingsOf, transfersOf } from '../transfers.ts'
import type { AccountReader } from './account-reader.ts'
import { isDelegation } from './account-search.ts'
import { missingTraces, unexplainedBlock } from './probe-errors.ts'

/** The first transfer to the account in this block; undefined if something else changed it. Throws if unexplained. */
export async function explainBlock(
  reader: AccountReader,
  seen: BlockWithExecution,
  before: Account,
  after: Account,
): Promise<Funding | undefined> {
  const { block, execution } = seen
  const isTraced = execution.form !== 'receipts' || block.transactions.length === 0
  // Genesis allocates balances and code without transactions.
  if (block.number > 0) {
    if (isTraced) await verifyChange(reader, seen, before, after)
    else if (!isPlainChange(seen, reader.address, before, after)) throw missingTraces(block.number)
  }
  return firstFundingIn(reader, seen)
}

export const firstFundingIn = ({ node, address }: AccountReader, seen: BlockWithExecution): Funding | undefined =>
  fundingsOf(node.chain.id, transfersOf(seen)).find((funding) => funding.address === address)

export const outgoingWei = (seen: BlockWithExecution, address: string): bigint =>
  sumWei(transfersOf(seen).filter(({ from }) => from === address))

async function verifyChange(
  reader: AccountReader,
  seen: BlockWithExecution,
  before: Account,
  after: Account,
): Promise<void> {
  const { address } = reader
  const { number, miner, transactions } = seen.block
  const sent = BigInt(transactions.filter(({ from }) => from === address).length)
  const nonceRise = after.nonce - before.nonce
  const isDestroyed = nonceRise < 0n && (await wasContract(reader, number))
  // An authorization (EIP-7702) and code that creates contracts raise the nonce without a transaction of the account.
  const mayRiseMore = async () =>
    (await reader.codeAt(number)) !== '0x' || authorizes(seen.block, address, before, after)
  if (!isDestroyed && (nonceRise < sent || (nonceRise > sent && !(await mayRiseMore()))))
    throw unexplainedBlock(
      reader.node.chain,
      number,
      `the nonce rose by ${nonceRise}, the account sent ${sent} transactions`,
    )
  const difference = unexplainedWei(seen, address, before, after)
  // Fees lower the balance of a sender, and a contract can burn its own when it destroys itself. Block rewards and fees
  // raise that of a miner.
  if (difference === 0n || (difference < 0n && (sent > 0n || isDestroyed)) || (difference > 0n && miner === address))
    return
  if (difference > 0n && (await reader.isUncleMiner(number))) return
  throw unexplainedBlock(
    reader.node.chain,
    number,
    `${difference} wei of the balance come from neither transfers, withdrawals nor rewards`,
  )
}

/**
 * Whether the account signed an authorization that a transaction of the block may have applied. The code at the end of the
 * block does not show it if it names address 0, or if a later authorization of the block does.
 */
const authorizes = ({ transactions }: Block, address: string, before: Account, after: Account): boolean =>
  transactions
    .flatMap(({ authorizations = [] }) => authorizations)
    .some(
      (one) =>
        isQuantity(one.nonce) &&
        BigInt(one.nonce) >= before.nonce &&
        BigInt(one.nonce) < after.nonce &&
        recoverAuthority(one) === address,
    )

/** Only a contract can lose its nonce: it destroys itself, and may be created again in the same block. */
async function wasContract(reader: AccountReader, block: number): Promise<boolean> {
  const code = await reader.codeAt(block - 1)
  return code !== '0x' && !isDelegation(code)
}

/**
 * Without traces, plain transfers are accepted only if they explain the balance exactly and the account did nothing
 * else.
 */
const isPlainChange = (seen: BlockWithExecution, address: string, before: Account, after: Account): boolean =>
  after.nonce === before.nonce &&
  seen.block.miner !== address &&
  seen.block.transactions.every(({ from }) => from !== address) &&
  unexplainedWei(seen, address, before, after) === 0n

/** What is left of the change of the balance without transfers and withdrawals. */
function unexplainedWei(seen: BlockWithExecution, address: string, before: Account, after: Account): bigint {
  const incoming = sumWei(transfersOf(seen).filter(({ to }) => to === address))
  const withdrawn = sumWei(seen.block.withdrawals.filter((withdrawal) => withdrawal.address === address))
  return after.balanceWei - before.balanceWei - incoming + outgoingWei(seen, address) - withdrawn
}

const sumWei = (all: readonly { readonly valueWei: bigint }[]): bigint =>
  all.reduce((sum, { valueWei }) => sum + valueWei, 0n)
