// A simulated Ethereum chain, generated from a seed: plain and internal transfers, creations, self-destructs, reverts,
// withdrawals, rewards, delegated accounts (EIP-7702) and reorganisations. It records every transfer that happened, as
// the expected result for tests.
import type { Transfer } from '#explorer/funding/transfers.ts'
import type { Header } from '#sources/evm/types.ts'
import { createSeededRandom, type SeededRandom } from '../seeded-random.ts'
import { type AccountChange, Accounts, type SimulatedAccount } from './accounts.ts'
import { Execution, type Frame } from './execute.ts'

export interface SimulatedTransaction {
  readonly hash: string
  readonly from: string
  readonly to: string | null
  readonly value: bigint
  readonly nonce: bigint
  readonly frame: Frame
}

/** A transfer that happened, with its position. */
export type TrueTransfer = Transfer

interface Sending extends Pick<SimulatedTransaction, 'from' | 'value' | 'nonce'> {
  readonly to: string
  readonly creates: boolean
  readonly reverts: boolean
}

export interface SimulatedBlock extends Header {
  readonly miner: string
  readonly transactions: readonly SimulatedTransaction[]
  readonly withdrawals: readonly { readonly address: string; readonly gwei: bigint }[]
  readonly transfers: readonly TrueTransfer[]
  /** Since Amsterdam: what each transaction changed (index 1, 2, …), and what the withdrawals changed after them. */
  readonly changes?: readonly IndexedChange[]
}

export type UnhashedBlock = Omit<SimulatedBlock, 'hash'>

export interface IndexedChange extends AccountChange {
  readonly index: number
}

export interface SimulatedChainOptions {
  readonly seed: string
  readonly id?: string
  /** Blocks behind the head that are final. */
  readonly finalLag?: number
  /** Maximum number of transactions in a block. */
  readonly busy?: number
  /** Number of regular addresses. */
  readonly accounts?: number
  /** Number of addresses with a large genesis balance. */
  readonly rich?: number
  readonly blockSeconds?: number
  /** Transfers from rich addresses at given blocks, besides the random ones. */
  readonly payments?: readonly Payment[]
  /** The first block of the Amsterdam fork; default: the chain has no fork. */
  readonly amsterdamFrom?: number
  /** The hash of a block of the fork; default: a random one. */
  readonly hashOf?: (block: UnhashedBlock) => string
  /** Addresses of destroyed contracts may send transactions, which is impossible on a real chain. */
  readonly destroyedMaySend?: boolean
}

export interface Payment {
  readonly block: number
  /** The recipient: a position among the regular addresses. */
  readonly account: number
  readonly ether: number
}

const defaultOptions = {
  id: '1',
  finalLag: 8,
  busy: 4,
  accounts: 14,
  rich: 3,
  blockSeconds: 12,
  payments: [],
  amsterdamFrom: Number.POSITIVE_INFINITY,
  destroyedMaySend: true,
}

const ether = 10n ** 18n
const fee = 21_000n * 10n ** 9n
const tip = 21_000n * 10n ** 8n
const genesisUnix = 1_700_000_000

export class SimulatedChain {
  readonly id: string
  /** Of the next block. */
  blockSeconds: number
  readonly blocks: SimulatedBlock[] = []
  /** Contracts that were deleted. The state does not show that they existed. */
  readonly destroyed = new Set<string>()
  readonly #accounts = new Accounts()
  readonly #options: Required<Omit<SimulatedChainOptions, 'hashOf'>> & Pick<SimulatedChainOptions, 'hashOf'>
  readonly #payments: ReadonlyMap<number, readonly Payment[]>
  readonly #addresses: string[]
  readonly #rich: string[]
  readonly #contracts: string[] = []
  readonly #oldDestruct: boolean
  readonly #oldNonces: boolean
  #fork = 0
  #final = 0

  constructor(options: SimulatedChainOptions) {
    this.#options = { ...defaultOptions, ...options }
    const { seed, id, accounts, rich, blockSeconds, payments } = this.#options
    const draws = createSeededRandom(`${seed}/chain`)
    this.id = id
    this.blockSeconds = blockSeconds
    this.#payments = Map.groupBy(payments, ({ block }) => block)
    this.#addresses = Array.from({ length: accounts }, () => `0x${draws.hex(40)}`)
    this.#rich = Array.from({ length: rich }, () => `0x${draws.hex(40)}`)
    this.#oldDestruct = draws.happens(0.3)
    this.#oldNonces = draws.happens(0.2)
    for (const address of this.#rich) this.#accounts.add(address, 10n ** 9n * ether)
    // One of the regular addresses may have a genesis balance.
    if (draws.happens(0.5)) this.#accounts.add(draws.pick(this.#addresses), ether)
    this.#close({ miner: draws.pick(this.#addresses), withdrawals: [], transactions: [], transfers: [] }, draws)
  }

  get head(): SimulatedBlock {
    return this.blocks.at(-1) as SimulatedBlock
  }

  /** Never decreases, even if a reorganisation makes the chain shorter. */
  get final(): number {
    return this.#final
  }

  /** Addresses with a large genesis balance. All other coins come from them, or from rewards and withdrawals. */
  get rich(): readonly string[] {
    return this.#rich
  }

  accountAt(address: string, block: number): SimulatedAccount {
    return this.#accounts.at(address, block)
  }

  /** All addresses that ever appeared. */
  addresses(): string[] {
    return [...new Set([...this.#addresses, ...this.#rich, ...this.#accounts.addresses()])]
  }

  mine(count = 1): void {
    for (let at = 0; at < count; at++) this.#mineOne()
  }

  /** Replaces the last `depth` blocks. Final blocks are never replaced. */
  reorg(depth: number, replacedBy = depth): void {
    const from = Math.max(this.final + 1, this.head.number - depth + 1)
    this.#accounts.rewind(from)
    this.blocks.length = from
    this.#fork += 1
    this.mine(replacedBy)
  }

  #mineOne(): void {
    const draws = createSeededRandom(`${this.#options.seed}/${this.blocks.length}/${this.#fork}`)
    const transactions: SimulatedTransaction[] = []
    const transfers: TrueTransfer[] = []
    const changes: IndexedChange[] = []
    const recorded = (index: number, change: () => void) => {
      const checkpoint = this.#accounts.checkpoint()
      change()
      changes.push(...this.#accounts.changedSince(checkpoint).map((changed) => ({ ...changed, index })))
    }
    const { isAmsterdam } = this
    const amsterdamMiner = isAmsterdam ? this.#miner(draws) : undefined
    // Since Amsterdam, fees are paid with each transaction, as in the list of changed accounts.
    const send = (transaction: () => void) =>
      recorded(transactions.length + 1, () => {
        transaction()
        if (amsterdamMiner) this.#accounts.add(amsterdamMiner, tip)
      })
    for (const payment of this.#payments.get(this.blocks.length) ?? [])
      send(() => this.#pay(payment, draws, transactions, transfers))
    const count = draws.whole(0, this.#options.busy + 1)
    for (let at = 0; at < count; at++) send(() => this.#transact(draws, transactions, transfers))
    const miner = amsterdamMiner ?? this.#miner(draws)
    if (!isAmsterdam)
      this.#accounts.add(miner, tip * BigInt(transactions.length) + (draws.happens(0.1) ? 2n * ether : 0n))
    const withdrawals = draws.happens(0.2)
      ? [{ address: draws.pick(this.#addresses), gwei: BigInt(draws.whole(1, 99)) }]
      : []
    recorded(transactions.length + 1, () => {
      for (const { address, gwei } of withdrawals) this.#accounts.add(address, gwei * 10n ** 9n)
    })
    this.#close({ miner, withdrawals, transactions, transfers, ...(isAmsterdam && { changes }) }, draws)
  }

  #miner(draws: SeededRandom): string {
    return draws.happens(0.3) ? draws.pick(this.#addresses) : `0x${'c0'.repeat(20)}`
  }

  /** Whether the next block is one of the Amsterdam fork. */
  get isAmsterdam(): boolean {
    return this.blocks.length >= this.#options.amsterdamFrom
  }

  #transact(draws: SeededRandom, transactions: SimulatedTransaction[], transfers: TrueTransfer[]): void {
    const from = this.#sender(draws)
    const { nonce, balance } = this.#accounts.get(from)
    this.#accounts.set(from, { nonce: nonce + 1n, balance: balance - fee })
    const kind = draws.whole(0, 12)
    if (kind === 0) this.#delegate(draws)
    const creates = kind === 1
    const contract = this.#contract(draws)
    const to = creates ? this.#fresh(draws) : kind < 6 && contract ? contract : this.#recipient(draws)
    // Rich addresses send small values, so that they can always pay.
    const isRich = this.#rich.includes(from)
    const left = isRich ? 5n * ether : balance - fee
    const all = draws.happens(0.1) && !isRich
    const value = draws.happens(0.2) ? 0n : all ? left : left / BigInt(draws.whole(2, 200))
    const reverts = draws.happens(0.1)
    this.#send({ from, to, value, nonce, creates, reverts }, draws, transactions, transfers)
  }

  #pay(
    { account, ether: amount }: Payment,
    draws: SeededRandom,
    transactions: SimulatedTransaction[],
    transfers: TrueTransfer[],
  ): void {
    const from = this.#rich[account % this.#rich.length] as string
    const to = this.#addresses[account] as string
    const { nonce, balance } = this.#accounts.get(from)
    this.#accounts.set(from, { nonce: nonce + 1n, balance: balance - fee })
    const value = BigInt(amount) * ether
    this.#send({ from, to, value, nonce, creates: false, reverts: false }, draws, transactions, transfers)
  }

  #send(
    { from, to, value, nonce, creates, reverts }: Sending,
    draws: SeededRandom,
    transactions: SimulatedTransaction[],
    transfers: TrueTransfer[],
  ): void {
    const execution = new Execution({
      accounts: this.#accounts,
      random: draws,
      oldDestruct: this.#oldDestruct && !this.isAmsterdam,
      keepsBalances: this.isAmsterdam,
      oldNonces: this.#oldNonces && !this.isAmsterdam,
      anyRecipient: () => this.#recipient(draws),
      contract: () => this.#contract(draws),
      unusedAddress: () => this.#fresh(draws),
      destroyed: (address) => this.destroyed.add(address),
    })
    const frame = execution.run(creates ? 'CREATE' : 'CALL', from, to, value, reverts)
    const hash = `0x${draws.hex(64)}`
    const txIndex = transactions.length
    let internal = 0
    for (const transfer of execution.transfers) {
      const position = transfer.frame === frame ? 0 : ++internal
      const location = { block: this.blocks.length, txIndex, position, tx: hash, timeUnix: this.#nextUnix() }
      transfers.push({ ...location, from: transfer.from, to: transfer.to, valueWei: transfer.value })
    }
    transactions.push({ hash, from, to: creates ? null : to, value, nonce, frame })
  }

  /** Another account pays for the delegation. The nonce of the delegated account rises, even without a balance. */
  #delegate(draws: SeededRandom): void {
    const address = draws.pick(this.#addresses)
    const { nonce, code } = this.#accounts.get(address)
    if (code !== '0x' && !code.startsWith('0xef0100')) return
    const clears = code !== '0x' && draws.happens(0.5)
    const next = clears ? '0x' : `0xef0100${draws.hex(40)}`
    if (this.#hasKey(address)) this.#accounts.set(address, { nonce: nonce + 1n, code: next })
  }

  /** A rich address, or a regular one that can pay the fee. */
  #sender(draws: SeededRandom): string {
    const candidate = draws.pick(this.#addresses)
    const { balance, code } = this.#accounts.get(candidate)
    const canPay = balance > 2n * fee && (code === '0x' || code.startsWith('0xef0100'))
    const sender = canPay && draws.happens(0.5) ? candidate : draws.pick(this.#rich)
    return this.#hasKey(sender) ? sender : (this.#rich[0] as string)
  }

  #hasKey(address: string): boolean {
    return this.#options.destroyedMaySend || !this.destroyed.has(address)
  }

  #recipient(draws: SeededRandom): string {
    return draws.happens(0.15) ? `0x${draws.hex(40)}` : draws.pick(draws.happens(0.9) ? this.#addresses : this.#rich)
  }

  #contract(draws: SeededRandom): string | undefined {
    if (this.#contracts.length === 0) return undefined
    const contract = draws.pick(this.#contracts)
    return this.#accounts.get(contract).code === '0x' ? undefined : contract
  }

  /** Sometimes an address that received transfers before the contract was created. */
  #fresh(draws: SeededRandom): string {
    const empty = this.#addresses.filter((address) => {
      const { nonce, code } = this.#accounts.get(address)
      return nonce === 0n && code === '0x'
    })
    const address = empty.length > 0 && draws.happens(0.1) ? draws.pick(empty) : `0x${draws.hex(40)}`
    this.#contracts.push(address)
    return address
  }

  #nextUnix(): number {
    return (this.blocks.at(-1)?.timeUnix ?? genesisUnix - this.blockSeconds) + this.blockSeconds
  }

  #close(
    made: Pick<SimulatedBlock, 'miner' | 'withdrawals' | 'transactions' | 'transfers' | 'changes'>,
    draws: SeededRandom,
  ): void {
    const number = this.blocks.length
    this.#accounts.closeBlock(number)
    const parentHash = this.blocks.at(-1)?.hash ?? `0x${'0'.repeat(64)}`
    const randomHash = `0x${draws.hex(64)}`
    const block: UnhashedBlock = { number, parentHash, timeUnix: this.#nextUnix(), ...made }
    const hash = (block.changes && this.#options.hashOf?.(block)) ?? randomHash
    this.blocks.push({ ...block, hash })
    this.#final = Math.max(this.#final, number - this.#options.finalLag)
  }
}
