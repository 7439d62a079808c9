// EIP-55 checksums: a letter of an address is upper case if the digit of the hash at its position is 8 or more.
import { keccak_256 } from '@noble/hashes/sha3.js'

export function checksumAddress(address: string): string {
  const digits = address.slice(2).toLowerCase()
  const hash = keccak_256(new TextEncoder().encode(digits)).toHex()
  return `0x${digits.replace(/[a-f]/g, (letter, at: number) => (hash.charAt(at) < '8' ? letter : letter.toUpperCase()))}`
}

/** Only mixed-case addresses have a checksum. */
export function hasWrongChecksum(address: string): boolean {
  const digits = address.slice(2)
  if (digits === digits.toLowerCase() || digits === digits.toUpperCase()) return false
  return checksumAddress(address).slice(2) !== digits
}
