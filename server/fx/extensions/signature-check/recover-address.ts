// Recovers the address that signed a digest, as Ethereum's ecrecover does.
//
// The public key is r⁻¹(s·R − z·G), where z is the digest. The part without z is computed once, because a signature is
// tried with up to a hundred digests. Each then takes a fifth of the time of the library's own recovery.
import { secp256k1 } from '@noble/curves/secp256k1.js'
import { keccak_256 } from '@noble/hashes/sha3.js'

const { Point } = secp256k1
const { Fn } = Point

export interface Signature {
  readonly r: bigint
  readonly s: bigint
  /** Whether the y coordinate of the signature's point is odd: v is 28 then, otherwise 27. */
  readonly isOdd: boolean
}

/** Digest → address in lower case, or undefined if no key fits. */
export type RecoverAddress = (digest: Uint8Array) => string | undefined

/** Undefined if no key can have made this signature over any digest. */
export function addressRecovery({ r, s, isOdd }: Signature): RecoverAddress | undefined {
  const point = pointOf(r, isOdd)
  if (!point || !Fn.isValidNot0(r) || !Fn.isValidNot0(s)) return undefined
  const inverse = Fn.inv(r)
  const fixed = point.multiplyUnsafe(Fn.mul(s, inverse))
  return (digest) => {
    const z = Fn.create(BigInt(`0x${digest.toHex()}`))
    const key = fixed.subtract(Point.BASE.multiplyUnsafe(Fn.mul(z, inverse)))
    return key.is0() ? undefined : `0x${keccak_256(key.toBytes(false).subarray(1)).subarray(12).toHex()}`
  }
}

/** The point of the curve with this x. About half of all numbers have none. */
function pointOf(x: bigint, isOdd: boolean): InstanceType<typeof Point> | undefined {
  try {
    return Point.fromHex(`${isOdd ? '03' : '02'}${x.toString(16).padStart(64, '0')}`)
  } catch {
    return undefined
  }
}
