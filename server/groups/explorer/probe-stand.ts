// Where a search stands: what the account is at a block up to which nothing has come in, and what kind of account it is.
import { createdAddress } from '#core/created.ts'
import { accountCalls, codeCall, toAccount } from '#io/evm/blocks.ts'
import type { Account, SeenBlock } from '#io/evm/shapes.ts'
import { delegateOf, isInert } from './code.ts'
import type { Asks } from './probe-asks.ts'

/** Up to the end of block `at` nothing has come in. */
export interface Stand {
  readonly at: number
  readonly account: Account
  /** none, or inert: the state tells. spends: it does not. lost: it has contradicted itself, and is not believed again. */
  readonly code: 'none' | 'inert' | 'spends' | 'lost'
  /** The code is another account's (EIP-7702). */
  readonly delegated: boolean
  /** Blocks up to here are read, whatever the state tells. */
  readonly readUntil?: number
}

export const nobody: Account = { nonce: 0n, balanceWei: 0n }
export const isNobody = ({ nonce, balanceWei }: Account): boolean => nonce === 0n && balanceWei === 0n

export const stateTells = ({ code, readUntil }: Stand): boolean =>
  readUntil === undefined && (code === 'none' || code === 'inert')

export async function standAt(asks: Asks, at: number, known?: Account): Promise<Stand> {
  const [account] = known ? [known] : await asks.look([at])
  const own = await asks.code(at)
  const delegate = delegateOf(own)
  const code = delegate ? await asks.code(at, delegate) : own
  // Nothing at the delegate's address today may be anything tomorrow.
  const kind = own === '0x' ? 'none' : code !== '0x' && isInert(code) ? 'inert' : 'spends'
  return { at, account: account as Account, code: kind, delegated: delegate !== undefined }
}

/** Whether there was code at that block, and whether the account is somebody's who sends transactions of his own. */
export async function kindOf(
  asks: Asks,
  block: number,
): Promise<{ readonly hadCode: boolean; readonly hasKey: boolean }> {
  const { address, head } = asks
  const calls = [codeCall(address, Math.max(block, 0)), codeCall(address, head), ...accountCalls(address, head)]
  const [code, codeNow, nonce, balance] = await asks.ask(calls)
  // Only a key can delegate.
  const delegates = delegateOf(codeNow as string) !== undefined
  const hasKey = delegates || (codeNow === '0x' && toAccount(nonce, balance).nonce > 0n)
  return { hadCode: block >= 0 && code !== '0x', hasKey }
}

/** A transaction of its own puts, or was to put, a contract there: no other one can ever have been at that address. */
export const isOwnCreation = ({ block }: SeenBlock, address: string): boolean =>
  block.transactions.some(
    ({ from, nonce, to }) => to === null && nonce !== undefined && createdAddress(from, nonce) === address,
  )
