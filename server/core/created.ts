// Where a contract comes to lie that a transaction of its own creates: told by the sender and the number of the transaction, and by
// nothing else, so that no two transactions can create one at the same address.
import { keccak256 } from './keccak.ts'

/** `sender` is 0x and 40 hexadecimal digits; the address is in lower case. */
export function createdAddress(sender: string, nonce: bigint): string {
  const items = Buffer.concat([itemOf(Buffer.from(sender.slice(2), 'hex')), itemOf(bytesOf(nonce))])
  const list = Buffer.concat([Buffer.from([0xc0 + items.length]), items])
  return `0x${Buffer.from(keccak256(list)).toString('hex', 12)}`
}

/** As RLP writes short texts: one small byte as it is, anything else behind its length. */
const itemOf = (bytes: Buffer): Buffer =>
  bytes.length === 1 && (bytes[0] as number) < 0x80 ? bytes : Buffer.concat([Buffer.from([0x80 + bytes.length]), bytes])

/** Without leading zeros; nothing at all for zero. */
function bytesOf(number: bigint): Buffer {
  const hex = number.toString(16)
  return number === 0n ? Buffer.alloc(0) : Buffer.from(hex.padStart(hex.length + (hex.length % 2), '0'), 'hex')
}
