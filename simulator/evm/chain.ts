// A chain like Ethereum's, from a seed: plain and internal transfers, creations, self-destructs, reverts, withdrawals,
// rewards, accounts that delegate (EIP-7702), reorganisations. It keeps the truth: every transfer that happened.
import { createSeededRandom, type SeededRandom } from '../seeded-random.ts'
import { Accounts, type SimAccount } from './accounts.ts'
import { Execution, type Frame } from './execute.ts'

export interface SimTransaction {
  readonly hash: string
  readonly from: string
  readonly to: string | null
  readonly value: bigint
  readonly nonce: bigint
  readonly frame: Frame
}

/** One transfer that happened, at its place. */
export interface TrueTransfer {
  readonly block: number
  readonly txIndex: number
  /** 0: the transaction's own value; others counted from 1. */
  readonly position: number
  readonly tx: string
  readonly timeUnix: number
  readonly from: string
  readonly to: string
  readonly valueWei: bigint
}

export interface SimBlock {
  readonly number: number
  readonly hash: string
  readonly parentHash: string
  readonly timeUnix: number
  readonly miner: string
  readonly transactions: readonly SimTransaction[]
  readonly withdrawals: readonly { readonly address: string; readonly gwei: bigint }[]
  readonly transfers: readonly TrueTransfer[]
}

export interface SimChainOptions {
  readonly seed: string
  readonly id?: string
  /** Blocks behind the head that are final. */
  readonly finalLag?: number
  /** Transactions in a block, at most. */
  readonly busy?: number
  /** Addresses that are used again and again. */
  readonly accounts?: number
  /** Addresses that have more than enough from the start. */
  readonly rich?: number
  readonly blockSeconds?: number
  /** Addresses of contracts that are gone may send transactions, to which in truth nobody has the key. */
  readonly destroyedMaySend?: boolean
}

const ether = 10n ** 18n
const fee = 21_000n * 10n ** 9n
const tip = 21_000n * 10n ** 8n
const genesisUnix = 1_700_000_000

export class SimChain {
  readonly id: string
  readonly finalLag: number
  readonly blockSeconds: number
  readonly blocks: SimBlock[] = []
  /** Deleted at some time: the state alone does not tell that they ever were. */
  readonly destroyed = new Set<string>()
  readonly #accounts = new Accounts()
  readonly #seed: string
  readonly #busy: number
  readonly #addresses: string[]
  readonly #rich: string[]
  readonly #contracts: string[] = []
  readonly #oldDestruct: boolean
  readonly #oldNonces: boolean
  readonly #destroyedMaySend: boolean
  #fork = 0
  #final = 0

  constructor(options: SimChainOptions) {
    const {
      seed,
      id = '1',
      finalLag = 8,
      busy = 4,
      accounts: people = 14,
      rich = 3,
      blockSeconds = 12,
      destroyedMaySend = true,
    } = options
    const draws = createSeededRandom(`${seed}/chain`)
    this.id = id
    this.finalLag = finalLag
    this.blockSeconds = blockSeconds
    this.#destroyedMaySend = destroyedMaySend
    this.#seed = seed
    this.#busy = busy
    this.#addresses = Array.from({ length: people }, () => `0x${draws.hex(40)}`)
    this.#rich = Array.from({ length: rich }, () => `0x${draws.hex(40)}`)
    this.#oldDestruct = draws.happens(0.3)
    this.#oldNonces = draws.happens(0.2)
    for (const address of this.#rich) this.#accounts.add(address, 10n ** 9n * ether)
    // Some of those that others pay later have been there from the start.
    if (draws.happens(0.5)) this.#accounts.add(draws.pick(this.#addresses), ether)
    this.#close({ miner: draws.pick(this.#addresses), withdrawals: [], transactions: [], transfers: [] }, draws)
  }

  get head(): SimBlock {
    return this.blocks.at(-1) as SimBlock
  }

  /** Once final, always final, also when a reorganisation makes the chain shorter. */
  get final(): number {
    return this.#final
  }

  /** Those who have enough from the start; everybody else's coin is from them, or from rewards and withdrawals. */
  get rich(): readonly string[] {
    return this.#rich
  }

  accountAt(address: string, block: number): SimAccount {
    return this.#accounts.at(address, block)
  }

  /** Everybody who ever appeared. */
  addresses(): string[] {
    return [...new Set([...this.#addresses, ...this.#rich, ...this.#accounts.addresses()])]
  }

  /** Brute force: the first transfer to this address that counts as a funding. */
  firstFunding(address: string, untilBlock = Number.POSITIVE_INFINITY): TrueTransfer | undefined {
    for (const { number, transfers } of this.blocks) {
      if (number > untilBlock) return undefined
      const found = transfers.find(({ from, to }) => to === address && from !== to)
      if (found) return found
    }
    return undefined
  }

  /** The same for everybody at once. */
  firstFundings(): Map<string, TrueTransfer> {
    const first = new Map<string, TrueTransfer>()
    for (const { transfers } of this.blocks) {
      for (const one of transfers) if (one.from !== one.to && !first.has(one.to)) first.set(one.to, one)
    }
    return first
  }

  mine(count = 1): void {
    for (let at = 0; at < count; at++) this.#mineOne()
  }

  /** The last `depth` blocks are replaced by others. Never deeper than what is final. */
  reorg(depth: number, replacedBy = depth): void {
    const from = Math.max(this.final + 1, this.head.number - depth + 1)
    this.#accounts.rewind(from)
    this.blocks.length = from
    this.#fork += 1
    this.mine(replacedBy)
  }

  #mineOne(): void {
    const draws = createSeededRandom(`${this.#seed}/${this.blocks.length}/${this.#fork}`)
    const transactions: SimTransaction[] = []
    const transfers: TrueTransfer[] = []
    const count = draws.whole(0, this.#busy + 1)
    for (let at = 0; at < count; at++) this.#transact(draws, transactions, transfers)
    const miner = draws.happens(0.3) ? draws.pick(this.#addresses) : `0x${'c0'.repeat(20)}`
    this.#accounts.add(miner, tip * BigInt(transactions.length) + (draws.happens(0.1) ? 2n * ether : 0n))
    const withdrawals = draws.happens(0.2)
      ? [{ address: draws.pick(this.#addresses), gwei: BigInt(draws.whole(1, 99)) }]
      : []
    for (const { address, gwei } of withdrawals) this.#accounts.add(address, gwei * 10n ** 9n)
    this.#close({ miner, withdrawals, transactions, transfers }, draws)
  }

  #transact(draws: SeededRandom, transactions: SimTransaction[], transfers: TrueTransfer[]): void {
    const from = this.#sender(draws)
    const { nonce, balance } = this.#accounts.get(from)
    this.#accounts.set(from, { nonce: nonce + 1n, balance: balance - fee })
    const kind = draws.whole(0, 12)
    if (kind === 0) this.#delegates(draws)
    const creates = kind === 1
    const contract = this.#contract(draws)
    const to = creates ? this.#fresh(draws) : kind < 6 && contract ? contract : this.#someone(draws)
    // The rich never give much: somebody must be able to pay for the next one.
    const isRich = this.#rich.includes(from)
    const left = isRich ? 5n * ether : balance - fee
    const all = draws.happens(0.1) && !isRich
    const value = draws.happens(0.2) ? 0n : all ? left : left / BigInt(draws.whole(2, 200))
    const execution = new Execution({
      accounts: this.#accounts,
      random: draws,
      oldDestruct: this.#oldDestruct,
      oldNonces: this.#oldNonces,
      anyRecipient: () => this.#someone(draws),
      contract: () => this.#contract(draws),
      unusedAddress: () => this.#fresh(draws),
      destroyed: (address) => this.destroyed.add(address),
    })
    const frame = execution.run(creates ? 'CREATE' : 'CALL', from, to, value, draws.happens(0.1))
    const hash = `0x${draws.hex(64)}`
    const txIndex = transactions.length
    let internal = 0
    for (const move of execution.transfers) {
      const position = move.frame === frame ? 0 : ++internal
      const place = { block: this.blocks.length, txIndex, position, tx: hash, timeUnix: this.#nextUnix() }
      transfers.push({ ...place, from: move.from, to: move.to, valueWei: move.value })
    }
    transactions.push({ hash, from, to: creates ? null : to, value, nonce, frame })
  }

  /** Somebody else pays; the account's nonce moves, whether or not it has ever had a coin. */
  #delegates(draws: SeededRandom): void {
    const address = draws.pick(this.#addresses)
    const { nonce, code } = this.#accounts.get(address)
    if (code !== '0x' && !code.startsWith('0xef0100')) return
    const clears = code !== '0x' && draws.happens(0.5)
    const next = clears ? '0x' : `0xef0100${draws.hex(40)}`
    if (this.#hasKey(address)) this.#accounts.set(address, { nonce: nonce + 1n, code: next })
  }

  /** One of the rich, or one of the people who can pay for it. */
  #sender(draws: SeededRandom): string {
    const asked = draws.pick(this.#addresses)
    const { balance, code } = this.#accounts.get(asked)
    const able = balance > 2n * fee && (code === '0x' || code.startsWith('0xef0100'))
    const sender = able && draws.happens(0.5) ? asked : draws.pick(this.#rich)
    return this.#hasKey(sender) ? sender : (this.#rich[0] as string)
  }

  #hasKey(address: string): boolean {
    return this.#destroyedMaySend || !this.destroyed.has(address)
  }

  #someone(draws: SeededRandom): string {
    return draws.happens(0.15) ? `0x${draws.hex(40)}` : draws.pick(draws.happens(0.9) ? this.#addresses : this.#rich)
  }

  #contract(draws: SeededRandom): string | undefined {
    if (this.#contracts.length === 0) return undefined
    const found = draws.pick(this.#contracts)
    return this.#accounts.get(found).code === '0x' ? undefined : found
  }

  /** Sometimes an address that was paid before anything was put there, as with addresses known in advance. */
  #fresh(draws: SeededRandom): string {
    const empty = this.#addresses.filter((one) => {
      const { nonce, code } = this.#accounts.get(one)
      return nonce === 0n && code === '0x'
    })
    const address = empty.length > 0 && draws.happens(0.1) ? draws.pick(empty) : `0x${draws.hex(40)}`
    this.#contracts.push(address)
    return address
  }

  #nextUnix(): number {
    return genesisUnix + this.blocks.length * this.blockSeconds
  }

  #close(made: Pick<SimBlock, 'miner' | 'withdrawals' | 'transactions' | 'transfers'>, draws: SeededRandom): void {
    const number = this.blocks.length
    this.#accounts.closeBlock(number)
    const parentHash = this.blocks.at(-1)?.hash ?? `0x${'0'.repeat(64)}`
    this.blocks.push({ number, hash: `0x${draws.hex(64)}`, parentHash, timeUnix: this.#nextUnix(), ...made })
    this.#final = Math.max(this.#final, number - this.finalLag)
  }
}
