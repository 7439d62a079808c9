// Signatures of contract wallets that are not deployed yet (ERC-6492). Such a signature contains the call that deploys the
// wallet. Permit2 does not know this form, so it is never settled as it is. No node runs the call either, because the caller
// chooses its code.

export interface PredeploySignature {
  /** The contract that deploys the wallet. */
  readonly factory: string
  /** What the factory is called with. */
  readonly factoryCalldata: string
  /** What the deployed wallet gets. */
  readonly signature: string
}

const suffix = '6492'.repeat(16)
const wordDigits = 64

/** Whether the signature ends like one of ERC-6492. */
export const isPredeploySignature = (signature: string): boolean => signature.toLowerCase().endsWith(suffix)

/** Undefined if the content is not `(address, bytes, bytes)`. */
export function parsePredeploySignature(text: string): PredeploySignature | undefined {
  const hex = text.slice(2, -suffix.length).toLowerCase()
  const word = (at: number) =>
    /^[0-9a-f]{64}$/.test(hex.slice(at, at + wordDigits)) ? hex.slice(at, at + wordDigits) : undefined
  const number = (at: number) => {
    const digits = word(at)
    // A larger number is beyond the end of any signature.
    return digits === undefined || !/^0{56}/.test(digits) ? undefined : Number.parseInt(digits, 16)
  }
  const bytes = (headAt: number) => {
    const offset = number(headAt)
    const length = offset === undefined ? undefined : number(offset * 2)
    if (offset === undefined || length === undefined) return undefined
    const content = hex.slice(offset * 2 + wordDigits, offset * 2 + wordDigits + length * 2)
    return content.length === length * 2 ? `0x${content}` : undefined
  }
  const factory = word(0)
  const factoryCalldata = bytes(wordDigits)
  const signature = bytes(wordDigits * 2)
  if (!factory?.startsWith('0'.repeat(24)) || factoryCalldata === undefined || signature === undefined) return undefined
  return { factory: `0x${factory.slice(24)}`, factoryCalldata, signature }
}
