// Reads deposit addresses from the logs of the deposit contract: the senders of the transactions that deposited for a
// validator (behaviour/validators.md#deposit-addresses).
//
// 1. Only finalized blocks are read, so that no deposit is reverted. Rows and cursors are committed together.
// 2. The contract numbers its deposits without gaps. A missing number shows that a node omits logs. Reading then goes
//    back to the block of the last known deposit.
// 3. If a node rejects a range of blocks, the next one has half the size. After a success it has twice the size.
// 4. Deposits are stored by public key, because they are read before the validator is registered. They are linked to
//    the validator when both are known.
import type { Network } from '#api/contract/wire/validators.ts'
import type { Range } from '#core/ranges.ts'
import { headerCall, hexOf } from '#sources/evm/blocks.ts'
import { CallFault, type Rpc, type RpcCall } from '#sources/evm/rpc.ts'
import { cursorOf, moveCursor } from '#storage/coverage.ts'
import type { State } from '#storage/state.ts'
import { linkDepositsOf } from '../../registry/link-deposits.ts'
import { toBytes } from '../../registry/registry.ts'
import { type Deposit, decodeDeposit, depositTopic, validateLogs } from './deposit-logs.ts'

const blocksAtFirst = 10_000
const blocksMax = 200_000
/** Deposits in one transaction, and keys in one statement. */
const depositsPerWrite = 500

/** The execution node omits deposits. */
export class DepositGap extends Error {
  override readonly name = 'DepositGap'
}

interface DepositCursor {
  readonly block: number
  /** Number of known deposits, which is the number of the next one. */
  readonly count: number
  /** Block of the last known deposit. */
  readonly last: number
}

export function createDepositReader(state: State, network: Network, rpc: Rpc, contractAddress: string) {
  const contract = contractAddress.toLowerCase()
  const streams = { block: `deposits/${network}`, count: `deposits/${network}/count`, last: `deposits/${network}/last` }
  let blockCount = blocksAtFirst

  async function readCursor(): Promise<DepositCursor> {
    const at = async (name: keyof DepositCursor) => (await cursorOf(state, streams[name])) ?? 0
    return { block: await at('block'), count: await at('count'), last: await at('last') }
  }

  /** In the order of their numbers; undefined: the node rejected the number of blocks. */
  async function readDeposits({ from, until }: Range, signal: AbortSignal): Promise<readonly Deposit[] | undefined> {
    const call: RpcCall = {
      method: 'eth_getLogs',
      params: [{ address: contract, topics: [depositTopic], fromBlock: hexOf(from), toBlock: hexOf(until - 1) }],
      validate: (raw) => validateLogs(raw, contract, { from, until }),
      acceptsError: true,
    }
    const [outcome] = await rpc.call([call], { signal })
    if (outcome?.is === 'result') {
      return (outcome.result as unknown[]).map(decodeDeposit).sort((a, b) => a.number - b.number)
    }
    if (outcome?.is === 'error' && until - from > 1) return undefined
    // A response that is too large or too slow looks like an unreachable node, so the next attempt requests less.
    blockCount = Math.max(1, Math.floor(blockCount / 2))
    throw new CallFault(outcome ?? { is: 'unusable', message: 'no response' })
  }

  async function storeDeposits(
    cursor: DepositCursor,
    until: number,
    deposits: readonly Deposit[],
    signal: AbortSignal,
  ): Promise<DepositCursor> {
    const fresh = deposits.filter(({ number }) => number >= cursor.count)
    const missing = fresh.findIndex(({ number }, at) => number !== cursor.count + at)
    if (missing >= 0) return goBack(cursor, cursor.count + missing, fresh[missing] as Deposit)
    let next = cursor
    for (let from = 0; from < fresh.length || from === 0; from += depositsPerWrite) {
      const part = fresh.slice(from, from + depositsPerWrite)
      const isLast = from + depositsPerWrite >= fresh.length
      const senders = await readSenders(part, signal)
      const last = part.at(-1)
      next = {
        block: isLast ? until : next.block,
        count: next.count + part.length,
        last: last ? last.block : next.last,
      }
      await writeDeposits(part, senders, next)
    }
    return next
  }

  async function goBack({ last }: DepositCursor, missing: number, later: Deposit): Promise<never> {
    await state.write((tx) => moveCursor(tx, streams.block, last))
    throw new DepositGap(
      `${network}: the execution node omits deposit ${missing} but returns deposit ${later.number} in block ${later.block}. ` +
        `Reading continues at block ${last}; add a node with all logs to execution.rpc`,
    )
  }

  /** By transaction hash: several deposits may share a transaction. */
  async function readSenders(
    deposits: readonly Deposit[],
    signal: AbortSignal,
  ): Promise<ReadonlyMap<string, Uint8Array>> {
    const hashes = [...new Set(deposits.map(({ transaction }) => transaction))]
    const calls = hashes.map(
      (hash): RpcCall => ({
        method: 'eth_getTransactionByHash',
        params: [hash],
        validate: (raw) => {
          const transaction = raw as { hash?: unknown; from?: unknown }
          const isValid =
            String(transaction.hash).toLowerCase() === hash && /^0x[0-9a-f]{40}$/i.test(String(transaction.from))
          return isValid ? undefined : 'not the requested transaction'
        },
      }),
    )
    const transactions = (await rpc.results(calls, { signal })) as readonly { readonly from: string }[]
    return new Map(hashes.map((hash, at) => [hash, toBytes((transactions[at] as { from: string }).from)]))
  }

  async function writeDeposits(
    deposits: readonly Deposit[],
    senders: ReadonlyMap<string, Uint8Array>,
    cursor: DepositCursor,
  ): Promise<void> {
    await state.write(
      async (tx) => {
        const insertSender = `insert into deposit_senders (network, pubkey, address, deposit_index) values (?, ?, ?, ?)
        on conflict (network, pubkey, address) do nothing`
        for (const { pubkey, transaction, number } of deposits)
          await tx.run(insertSender, network, pubkey, senders.get(transaction) as Uint8Array, number)
        const keys = deposits.map(({ pubkey }) => pubkey)
        await linkDepositsOf(tx, network, keys)
        for (const name of ['block', 'count', 'last'] as const) await moveCursor(tx, streams[name], cursor[name])
      },
      { lock: 'registry' },
    )
  }

  return {
    /** Reads up to the last finalized block. Returns the block before which all have been read. */
    async catchUp(signal: AbortSignal) {
      // Nothing else shows which block is final, so it is requested twice and the lower one counts.
      const finals = await rpc.results([headerCall('finalized'), headerCall('finalized')], { signal })
      const end = Math.min(...finals.map((final) => Number((final as { number: string }).number))) + 1
      let cursor = await readCursor()
      while (cursor.block < end && !signal.aborted) {
        const until = Math.min(end, cursor.block + blockCount)
        const deposits = await readDeposits({ from: cursor.block, until }, signal)
        if (deposits) cursor = await storeDeposits(cursor, until, deposits, signal)
        blockCount = deposits ? Math.min(blocksMax, blockCount * 2) : Math.max(1, Math.floor(blockCount / 2))
      }
      return { untilBlock: cursor.block, deposits: cursor.count }
    },
  }
}
