// Generates and executes one random transaction of the simulated chain: a tree of calls. Transfers are recorded as they
// happen and removed when a call that contains them fails.
import type { SeededRandom } from '../seeded-random.ts'
import type { Accounts } from './accounts.ts'

export type FrameType = 'CALL' | 'DELEGATECALL' | 'STATICCALL' | 'CALLCODE' | 'CREATE' | 'CREATE2' | 'SELFDESTRUCT'

export interface Frame {
  readonly type: FrameType
  readonly from: string
  readonly to: string
  readonly value: bigint
  failed: boolean
  readonly calls: Frame[]
}

export interface FrameTransfer extends Pick<Frame, 'from' | 'to' | 'value'> {
  readonly frame: Frame
}

export interface ExecutionContext {
  readonly accounts: Accounts
  readonly random: SeededRandom
  /** A known or new address. */
  anyRecipient(): string
  contract(): string | undefined
  unusedAddress(): string
  /** Called for a deleted account. */
  destroyed(address: string): void
  /** Before Cancun: self-destruct deletes any contract, not only one of the same transaction. */
  readonly oldDestruct: boolean
  /** Since Amsterdam: a deleted contract keeps its balance (EIP-8246). */
  readonly keepsBalances: boolean
  /** Before EIP-161: contracts begin with nonce 0. */
  readonly oldNonces: boolean
}

/** EVM code that returns the value of a call to the caller. */
export const spendingCode = '0x5f5f5f5f34335af1'

const depthMax = 4
const framesMax = 14

export class Execution {
  readonly transfers: FrameTransfer[] = []
  readonly #context: ExecutionContext
  readonly #created = new Set<string>()
  readonly #destroyed = new Set<string>()
  #frames = 0

  constructor(context: ExecutionContext) {
    this.#context = context
  }

  /** Executes the transaction. The caller updates the nonce of the sender. */
  run(type: 'CALL' | 'CREATE', from: string, to: string, value: bigint, mustFail: boolean): Frame {
    const frame = this.#enter(type, from, to, value, 0, mustFail)
    for (const address of this.#destroyed) {
      if (this.#context.keepsBalances) this.#context.accounts.set(address, { nonce: 0n, code: '0x' })
      else this.#context.accounts.remove(address)
      this.#context.destroyed(address)
    }
    return frame
  }

  #enter(type: FrameType, from: string, to: string, value: bigint, depth: number, mustFail = false): Frame {
    const { accounts, random } = this.#context
    const frame: Frame = { type, from, to, value, failed: false, calls: [] }
    this.#frames += 1
    const checkpoint = accounts.checkpoint()
    const transfersBefore = this.transfers.length
    const destroyedBefore = [...this.#destroyed]
    const createdBefore = [...this.#created]
    const creates = type === 'CREATE' || type === 'CREATE2'
    if (creates) {
      accounts.set(to, { nonce: this.#context.oldNonces ? 0n : 1n, code: spendingCode })
      this.#created.add(to)
    }
    if (type === 'CALL' || creates) this.#transfer(frame)
    // A delegate call runs the code of another contract as the caller.
    const self = type === 'DELEGATECALL' || type === 'CALLCODE' ? from : to
    if (type !== 'STATICCALL' && type !== 'SELFDESTRUCT' && this.#hasCode(to)) this.#runCode(frame, self, depth)
    if (mustFail || (depth > 0 && random.happens(0.15))) {
      frame.failed = true
      accounts.undoTo(checkpoint)
      this.transfers.length = transfersBefore
      restore(this.#destroyed, destroyedBefore)
      restore(this.#created, createdBefore)
    }
    return frame
  }

  #hasCode(address: string): boolean {
    return this.#context.accounts.get(address).code !== '0x'
  }

  #runCode(frame: Frame, self: string, depth: number): void {
    const { random } = this.#context
    const steps = depth < depthMax ? random.whole(0, 4) : 0
    for (let step = 0; step < steps && this.#frames < framesMax; step++) {
      if (this.#destroyed.has(self)) return
      frame.calls.push(this.#step(self, depth + 1, frame.value))
    }
  }

  #step(self: string, depth: number, shownValue: bigint): Frame {
    const { accounts, random } = this.#context
    const value = this.#part(accounts.get(self).balance)
    const kind = random.whole(0, 20)
    if (kind < 9) return this.#enter('CALL', self, this.#context.anyRecipient(), value, depth)
    const contract = this.#context.contract()
    if (kind < 11 && contract) return this.#enter('CALL', self, contract, value, depth)
    if (kind < 13 && contract) return this.#enter('DELEGATECALL', self, contract, shownValue, depth)
    if (kind < 14 && contract) return this.#enter('CALLCODE', self, contract, value, depth)
    if (kind < 15 && contract) return this.#enter('STATICCALL', self, contract, 0n, depth)
    if (kind < 18) return this.#create(self, value, depth)
    return this.#destruct(self)
  }

  #create(self: string, value: bigint, depth: number): Frame {
    const { accounts, random } = this.#context
    const type = random.happens(0.5) ? 'CREATE' : 'CREATE2'
    // Creating a contract raises the nonce, also of a delegated account.
    accounts.set(self, { nonce: accounts.get(self).nonce + 1n })
    const to = this.#context.unusedAddress()
    return this.#enter(type, self, to, value, depth)
  }

  #destruct(self: string): Frame {
    const { accounts } = this.#context
    let to = this.#context.anyRecipient()
    if (to === self) to = this.#context.unusedAddress()
    const { balance, code } = accounts.get(self)
    const frame: Frame = { type: 'SELFDESTRUCT', from: self, to, value: balance, failed: false, calls: [] }
    this.#frames += 1
    this.#transfer(frame)
    // A delegated account is not deleted; it only sends its balance.
    if (!code.startsWith('0xef0100') && (this.#context.oldDestruct || this.#created.has(self)))
      this.#destroyed.add(self)
    return frame
  }

  #transfer(frame: Frame): void {
    const { from, to, value } = frame
    if (value === 0n) return
    this.#context.accounts.transfer(from, to, value)
    if (from !== to) this.transfers.push({ frame, from, to, value })
  }

  #part(balance: bigint): bigint {
    const { random } = this.#context
    if (balance === 0n || random.happens(0.3)) return 0n
    if (random.happens(0.3)) return balance
    return (balance * BigInt(random.whole(1, 1000))) / 1000n
  }
}

function restore(set: Set<string>, members: readonly string[]): void {
  set.clear()
  for (const member of members) set.add(member)
}
