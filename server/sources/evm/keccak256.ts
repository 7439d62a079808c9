// keccak256 of bytes, native if the OpenSSL of this Node has it, which is four to ten times as fast.
import { getHashes, hash } from 'node:crypto'
import { keccak_256 } from '@noble/hashes/sha3.js'

const isNative = getHashes().some((name) => name.toLowerCase() === 'keccak-256')

/** Hexadecimal digits without 0x. */
export const keccak256 = (bytes: Uint8Array): string =>
  isNative ? hash('keccak-256', bytes) : keccak_256(bytes).toHex()
