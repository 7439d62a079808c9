// EIP-7702: who signed an authorization of a transaction. An account that signs one gets a delegation, or loses it if the
// authorization names address 0. Its nonce rises, and it need not send a transaction.
import { secp256k1 } from '@noble/curves/secp256k1.js'
import { keccak256 } from './keccak256.ts'
import { encodeRlp, numberBytes } from './rlp.ts'
import type { Authorization } from './types.ts'
import { isAddress, isQuantity } from './validate.ts'

const magicByte = 0x05

/** Undefined if the authorization is malformed, or if no key fits its signature: nodes skip both. */
export function recoverAuthority({ chainId, address, nonce, yParity, r, s }: Authorization): string | undefined {
  if (!isAddress(address) || ![chainId, nonce, yParity, r, s].every(isQuantity)) return undefined
  const signed = encodeRlp([numberBytes(chainId), address, numberBytes(nonce)])
  const digest = Buffer.from(keccak256(Buffer.concat([Buffer.of(magicByte), signed])), 'hex')
  try {
    const signature = new secp256k1.Signature(BigInt(r), BigInt(s), Number(yParity))
    const key = signature.recoverPublicKey(digest).toBytes(false).subarray(1)
    return `0x${keccak256(key).slice(24)}`
  } catch {
    return undefined
  }
}
