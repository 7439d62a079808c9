// Signatures of contract wallets that are not deployed yet (ERC-6492). Such a signature holds the call that deploys the
// wallet. A node can run this call and then ask the wallet (EIP-1271), without changing the chain.

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

/** Whether the signature has the form of ERC-6492. */
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

/**
 * Code for an `eth_call` without a receiver: calls the factory, then the wallet. The call returns the word 1 if the wallet
 * returns `selector`, as EIP-1271 requires, and 0 otherwise. A factory that fails is ignored, because the wallet may be
 * deployed already. `walletCalldata` is the call of `isValidSignature`.
 */
export function predeployCheckCode(
  { factory, factoryCalldata }: PredeploySignature,
  wallet: string,
  selector: string,
  walletCalldata: string,
): string {
  const calldatas = [factoryCalldata.slice(2), walletCalldata.slice(2)] as const
  const [factoryBytes, walletBytes] = calldatas.map((calldata) => push4(calldata.length / 2)) as [string, string]
  const program = (programBytes: number) =>
    [
      // The calldata of both calls is copied behind the first word of the memory, which gets the result.
      `${factoryBytes}${push4(programBytes)}602039`, // CODECOPY
      `60006000${factoryBytes}6020600073${factory.slice(2)}5af150`, // CALL, POP
      `${walletBytes}${push4(programBytes + calldatas[0].length / 2)}602039`, // CODECOPY
      `60206000${walletBytes}602073${wallet.slice(2).toLowerCase()}5afa`, // STATICCALL
      '3d601f1002', // 31 < RETURNDATASIZE, MUL with the success
      `60005163${selector}60e01b1402`, // MLOAD, EQ with the selector, MUL
      '60005260206000f3', // MSTORE, RETURN
    ].join('')
  const programBytes = program(0).length / 2
  return `0x${program(programBytes)}${calldatas.join('')}`
}

/** PUSH4, so that the length of the program does not depend on the number. */
const push4 = (number: number): string => `63${number.toString(16).padStart(8, '0')}`
