// Accounts of the simulated chain: current state, state at the end of every block, and undo within a transaction. It is
// independent of the product code, so that tests can compare the two.

export interface SimulatedAccount {
  readonly nonce: bigint
  readonly balance: bigint
  /** `0x` for none; `0xef0100…` marks a delegated account. */
  readonly code: string
}

export interface AccountChange {
  readonly address: string
  readonly before: SimulatedAccount
  readonly after: SimulatedAccount
}

const empty: SimulatedAccount = { nonce: 0n, balance: 0n, code: '0x' }

interface PastAccount {
  readonly block: number
  readonly account: SimulatedAccount
}

export class Accounts {
  readonly #now = new Map<string, SimulatedAccount>()
  readonly #past = new Map<string, PastAccount[]>()
  readonly #touched = new Set<string>()
  #journal: { readonly address: string; readonly before: SimulatedAccount }[] = []

  get(address: string): SimulatedAccount {
    return this.#now.get(address) ?? empty
  }

  set(address: string, change: Partial<SimulatedAccount>): void {
    const before = this.get(address)
    this.#journal.push({ address, before })
    this.#now.set(address, { ...before, ...change })
    this.#touched.add(address)
  }

  add(address: string, wei: bigint): void {
    this.set(address, { balance: this.get(address).balance + wei })
  }

  transfer(from: string, to: string, wei: bigint): void {
    if (this.get(from).balance < wei) throw new Error(`${from} cannot pay ${wei}`)
    this.add(from, -wei)
    this.add(to, wei)
  }

  remove(address: string): void {
    this.set(address, empty)
  }

  checkpoint(): number {
    return this.#journal.length
  }

  undoTo(checkpoint: number): void {
    for (const { address, before } of this.#journal.splice(checkpoint).reverse()) this.#now.set(address, before)
  }

  /** The accounts that differ from what they were at the checkpoint. */
  changedSince(checkpoint: number): AccountChange[] {
    const before = new Map<string, SimulatedAccount>()
    for (const entry of this.#journal.slice(checkpoint)) before.getOrInsert(entry.address, entry.before)
    return [...before]
      .map(([address, before]) => ({ address, before, after: this.get(address) }))
      .filter(({ before, after }) =>
        (['nonce', 'balance', 'code'] as const).some((name) => before[name] !== after[name]),
      )
  }

  closeBlock(block: number): void {
    for (const address of this.#touched)
      this.#past.getOrInsertComputed(address, () => []).push({ block, account: this.get(address) })
    this.#touched.clear()
    this.#journal = []
  }

  at(address: string, block: number): SimulatedAccount {
    return this.#past.get(address)?.findLast((past) => past.block <= block)?.account ?? empty
  }

  /** Reverts every block from this one on. */
  rewind(block: number): void {
    for (const [address, past] of this.#past) {
      if ((past.at(-1)?.block ?? -1) < block) continue
      while ((past.at(-1)?.block ?? -1) >= block) past.pop()
      this.#now.set(address, past.at(-1)?.account ?? empty)
    }
  }

  addresses(): IterableIterator<string> {
    return this.#now.keys()
  }
}
