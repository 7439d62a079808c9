// Deposit addresses: who sent the transactions that made a validator's deposits, from the logs of the deposit contract
// (behaviour/validators.md#deposit-addresses).
//
// 1. Only final blocks are read, so that no deposit is taken back. Rows and cursors are one transaction.
// 2. The contract numbers its deposits without a gap. A node that leaves logs out is found out by that, and reading goes back
//    to the block of the last deposit that is known.
// 3. A stretch of blocks that a node refuses is halved, one that went well is doubled, up to a limit.
// 4. Deposits are kept by key, because they are seen before the validator is in any registry; they are joined to it by
//    whichever comes second.
import type { Network } from '#api/wire/validators.ts'
import type { Range } from '#core/ranges.ts'
import { headerCall, hexOf } from '#sources/evm/blocks.ts'
import { faultOf, type Rpc, type RpcCall } from '#sources/evm/rpc.ts'
import { cursorOf, moveCursor } from '#storage/coverage.ts'
import type { State } from '#storage/state.ts'
import { toBytes } from '#validators/registry/registry.ts'
import { type Deposit, decodeDeposit, depositTopic, validateLogs } from './deposit-logs.ts'

const blocksAtFirst = 10_000
const blocksMax = 200_000
/** Deposits in one transaction, and keys in one statement. */
const depositsPerWrite = 500

export interface DepositProgress {
  /** Blocks before this one have been read. */
  readonly untilBlock: number
  readonly deposits: number
}

/** The execution node tells the logs otherwise than the contract numbers them. */
export class DepositGap extends Error {
  override readonly name = 'DepositGap'
}

interface DepositCursor {
  readonly block: number
  /** Deposits that are known: the number of the next one. */
  readonly count: number
  /** Block of the last one. */
  readonly last: number
}

const cursorStreams = (network: Network) => ({
  block: `deposits/${network}`,
  count: `deposits/${network}/count`,
  last: `deposits/${network}/last`,
})

export class DepositReader {
  readonly #state: State
  readonly #network: Network
  readonly #rpc: Rpc
  readonly #contract: string
  #blocks = blocksAtFirst

  constructor(state: State, network: Network, rpc: Rpc, contract: string) {
    this.#state = state
    this.#network = network
    this.#rpc = rpc
    this.#contract = contract.toLowerCase()
  }

  /** Reads up to the last final block. */
  async catchUp(signal: AbortSignal): Promise<DepositProgress> {
    const [final] = await this.#rpc.results([headerCall('finalized')], { signal })
    const end = Number((final as { number: string }).number) + 1
    let cursor = await this.#readCursor()
    while (cursor.block < end && !signal.aborted) {
      const until = Math.min(end, cursor.block + this.#blocks)
      const deposits = await this.#deposits({ from: cursor.block, until }, signal)
      if (deposits) cursor = await this.#storeDeposits(cursor, until, deposits, signal)
      this.#blocks = deposits ? Math.min(blocksMax, this.#blocks * 2) : Math.max(1, Math.floor(this.#blocks / 2))
    }
    return { untilBlock: cursor.block, deposits: cursor.count }
  }

  async #readCursor(): Promise<DepositCursor> {
    const { block, count, last } = cursorStreams(this.#network)
    const at = async (stream: string) => (await cursorOf(this.#state, stream)) ?? 0
    return { block: await at(block), count: await at(count), last: await at(last) }
  }

  /** In the order of the contract; undefined: too many blocks for the node. */
  async #deposits({ from, until }: Range, signal: AbortSignal): Promise<readonly Deposit[] | undefined> {
    const filter = {
      address: this.#contract,
      topics: [depositTopic],
      fromBlock: hexOf(from),
      toBlock: hexOf(until - 1),
    }
    const call: RpcCall = {
      method: 'eth_getLogs',
      params: [filter],
      validate: (raw) => validateLogs(raw, this.#contract, { from, until }),
      acceptsError: true,
    }
    const [outcome] = await this.#rpc.call([call], { signal })
    if (outcome?.is === 'result') {
      return (outcome.result as unknown[]).map(decodeDeposit).sort((a, b) => a.number - b.number)
    }
    if (outcome?.is === 'error' && until - from > 1) return undefined
    // An answer that was too large or too slow looks the same as a node that is down: next time, less is asked for.
    this.#blocks = Math.max(1, Math.floor(this.#blocks / 2))
    throw faultOf(outcome ?? { is: 'unusable', message: 'no answer' })
  }

  async #storeDeposits(
    cursor: DepositCursor,
    until: number,
    deposits: readonly Deposit[],
    signal: AbortSignal,
  ): Promise<DepositCursor> {
    const fresh = deposits.filter(({ number }) => number >= cursor.count)
    const missing = fresh.findIndex(({ number }, at) => number !== cursor.count + at)
    if (missing >= 0) return this.#goBack(cursor, cursor.count + missing, fresh[missing] as Deposit)
    let now = cursor
    for (let from = 0; from < fresh.length || from === 0; from += depositsPerWrite) {
      const part = fresh.slice(from, from + depositsPerWrite)
      const isLast = from + depositsPerWrite >= fresh.length
      const senders = await this.#senders(part, signal)
      const last = part.at(-1)
      now = {
        block: isLast ? until : now.block,
        count: now.count + part.length,
        last: last ? last.block : now.last,
      }
      await this.#write(part, senders, now)
    }
    return now
  }

  async #goBack({ last }: DepositCursor, missing: number, found: Deposit): Promise<never> {
    await this.#state.write((tx) => moveCursor(tx, cursorStreams(this.#network).block, last))
    throw new DepositGap(
      `${this.#network}: the execution node leaves out deposit ${missing}, though it tells deposit ${found.number} in block ${found.block}; ` +
        `reading goes back to block ${last} and needs a node in execution.rpc that has all logs`,
    )
  }

  /** By transaction: several deposits may share one. */
  async #senders(deposits: readonly Deposit[], signal: AbortSignal): Promise<ReadonlyMap<string, Uint8Array>> {
    const hashes = [...new Set(deposits.map(({ transaction }) => transaction))]
    const calls = hashes.map(
      (hash): RpcCall => ({
        method: 'eth_getTransactionByHash',
        params: [hash],
        validate: (raw) => {
          const { hash: own, from } = raw as { hash?: unknown; from?: unknown }
          const isIt = String(own).toLowerCase() === hash && /^0x[0-9a-f]{40}$/i.test(String(from))
          return isIt ? undefined : 'not the transaction that was asked for'
        },
      }),
    )
    const found = (await this.#rpc.results(calls, { signal })) as readonly { readonly from: string }[]
    return new Map(hashes.map((hash, at) => [hash, toBytes((found[at] as { from: string }).from)]))
  }

  async #write(
    deposits: readonly Deposit[],
    senders: ReadonlyMap<string, Uint8Array>,
    now: DepositCursor,
  ): Promise<void> {
    const network = this.#network
    const { block, count, last } = cursorStreams(network)
    await this.#state.write(async (tx) => {
      for (const { pubkey, transaction, number } of deposits) {
        await tx.run(
          `insert into deposit_senders (network, pubkey, address, place) values (?, ?, ?, ?)
           on conflict (network, pubkey, address) do nothing`,
          network,
          pubkey,
          senders.get(transaction) as Uint8Array,
          number,
        )
      }
      if (deposits.length > 0) {
        const keys = deposits.map(({ pubkey }) => pubkey)
        await tx.run(
          `${insertLinks} and d.pubkey in (${keys.map(() => '?').join()}) ${ignoreExisting}`,
          network,
          ...keys,
        )
      }
      await moveCursor(tx, block, now.block)
      await moveCursor(tx, count, now.count)
      await moveCursor(tx, last, now.last)
    })
  }
}

const insertLinks = `insert into validator_deposits (network, validator_index, address, place)
  select v.network, v.validator_index, d.address, d.place
  from validators v join deposit_senders d on d.network = v.network and d.pubkey = v.pubkey where v.network = ?`
const ignoreExisting = 'on conflict (network, validator_index, address) do nothing'

/** Gives validators that have just been enrolled the deposits that were seen before. */
export async function linkDeposits(state: State, network: Network, { from, until }: Range): Promise<void> {
  const any = await state.get('select 1 as any_row from deposit_senders where network = ? limit 1', network)
  if (!any) return
  await state.write((tx) =>
    tx.run(
      `${insertLinks} and v.validator_index >= ? and v.validator_index < ? ${ignoreExisting}`,
      network,
      from,
      until,
    ),
  )
}
