// What the code of an account can do to its balance, told from its bytes alone (decision 0065). Pure.
//
// 1. Code called inert can lower its account's balance only in ways that raise its nonce too, whoever calls it and with
//    whatever; and it can never be replaced. Some code of which both are true is taken for spending nevertheless.
// 2. A jump lands only on a JUMPDEST that one sweep from the first byte meets as an instruction. So an instruction that the
//    sweep reaches neither from the beginning nor from a JUMPDEST never runs.

const jumpDest = 0x5b
const push1 = 0x60
const push32 = 0x7f
/** STOP, JUMP, RETURN, REVERT, INVALID: what follows is reached by a jump only. */
const ends: ReadonlySet<number> = new Set([0x00, 0x56, 0xf3, 0xfd, 0xfe])

/**
 * Everything up to LOG4, and CREATE, RETURN, CREATE2, STATICCALL, REVERT, INVALID. A creation may give value away, but raises the nonce.
 * Left out are CALL, CALLCODE, DELEGATECALL, SELFDESTRUCT, and whatever has no meaning today.
 */
const isHarmless = (op: number): boolean => op <= 0xa4 || harmlessAbove.has(op)
const harmlessAbove: ReadonlySet<number> = new Set([0xf0, 0xf3, 0xf5, 0xfa, 0xfd, 0xfe])

export function isInert(code: string): boolean {
  const bytes = Buffer.from(code.slice(2), 'hex')
  let runs = true
  for (let at = 0; at < bytes.length; at++) {
    const op = bytes[at] as number
    if (op === jumpDest) runs = true
    if (runs && !isHarmless(op)) return false
    if (ends.has(op)) runs = false
    if (op >= push1 && op <= push32) at += op - push1 + 1
  }
  return true
}

const delegation = /^0xef0100([0-9a-f]{40})$/i

/** Whose code an account runs that delegates to another (EIP-7702). */
export function delegateOf(code: string): string | undefined {
  const [, target] = delegation.exec(code) ?? []
  return target && `0x${target.toLowerCase()}`
}
