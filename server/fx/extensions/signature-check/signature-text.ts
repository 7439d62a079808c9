// Parses the text of a signature. The contract accepts 65 bytes with v 27 or 28, or 64 bytes in the compact form of
// EIP-2098. Anything else gives a finding, even if it can still be parsed. Pure.
import type { SignatureFinding } from '#api/contract/wire/fx-signature-check.ts'
import { isPredeploySignature, parsePredeploySignature } from './predeploy-signature.ts'
import type { Signature } from './recover-address.ts'

export interface ParsedSignature {
  /** Undefined if it cannot be parsed. */
  readonly parts: Signature | undefined
  readonly findings: readonly SignatureFinding[]
  /** Of a wallet that is not deployed yet (ERC-6492): nothing in it says whether the wallet accepts it. */
  readonly isPredeploy?: true
}

export function parseSignature(text: string, signer: string | undefined): ParsedSignature {
  const hex = text.slice(2)
  const invalid = (message: string): ParsedSignature => ({
    parts: undefined,
    findings: [{ field: 'signature', message }],
  })
  if (!/^0x([0-9a-fA-F]{2})+$/.test(text)) return invalid('is not 0x followed by hexadecimal bytes')
  if (isPredeploySignature(text)) {
    const predeploy = parsePredeploySignature(text)
    if (!predeploy) return invalid('ends like ERC-6492, but does not contain an address and two byte strings')
    const wallet = signer === undefined ? 'the wallet' : `the wallet ${signer}`
    const message =
      `has the form of ERC-6492, which Permit2 refuses. First deploy ${wallet}: call ${predeploy.factory} with the ` +
      'calldata in the signature. Then check the inner signature, and settle with it'
    return { ...invalid(message), isPredeploy: true }
  }
  const r = BigInt(`0x${hex.slice(0, 64)}`)
  if (hex.length === 128) {
    const word = BigInt(`0x${hex.slice(64)}`)
    return { parts: { r, s: BigInt.asUintN(255, word), isOdd: word >> 255n === 1n }, findings: [] }
  }
  if (hex.length !== 130) {
    return invalid(`has ${hex.length / 2} bytes; a signature has 65, or 64 in the compact form`)
  }
  const s = BigInt(`0x${hex.slice(64, 128)}`)
  const v = Number.parseInt(hex.slice(128), 16)
  const isOdd = v % 2 === (v >= 27 ? 0 : 1)
  if (v === 27 || v === 28) return { parts: { r, s, isOdd }, findings: [] }
  const isParity = v === 0 || v === 1
  const message = isParity ? 'is 0 or 1; the contract requires 27 or 28' : 'is neither 27 nor 28'
  const finding = { field: 'signature.v', message, expected: isParity ? String(v + 27) : '27 or 28', found: String(v) }
  return { parts: isParity ? { r, s, isOdd } : undefined, findings: [finding] }
}
