// Checks a signature over a quote: whether it is valid, who made it, and if it is not valid, why
// (behaviour/fx.md#signature-checks). Pure.
//
// 1. `good` means that the Permit2 contract recovers the expected signer from exactly these bytes. A signature that only
//    a more lenient parser would accept is `bad`, with a finding.
//    A signature of a wallet that is not deployed yet (ERC-6492) is `unknown`: Permit2 refuses it, but may accept the
//    signature inside it once the wallet is deployed.
// 2. Without an expected signer, no signature is `bad` because of its signer: any bytes recover to some address.
import { keccak_256 } from '@noble/hashes/sha3.js'
import type { Quote } from '#api/contract/wire/fx.ts'
import type { SignatureDiagnosis, SignatureFinding } from '#api/contract/wire/fx-signature-check.ts'
import { checksumAddress } from '#core/checksum-address.ts'
import { findDifferences } from './document-differences.ts'
import { hashStruct, hashTypedData, TypedDataTooLarge, type TypedDocument } from './hash-typed-data.ts'
import { addressRecovery, type RecoverAddress } from './recover-address.ts'
import { parseSignature } from './signature-text.ts'
import { listSigningMistakes } from './signing-mistakes.ts'

export interface SignatureInput {
  readonly quote: Quote & Required<Pick<Quote, 'typedData'>>
  /** 0x hexadecimal, as returned by the wallet. */
  readonly signature: string
  /** The expected signer. */
  readonly signer?: string | undefined
  /** The typed data that the wallet signed, according to the caller. */
  readonly signed?: unknown
  readonly nowMs: number
}

/** All checks that need no node. Throws `TypedDataTooLarge` if the typed data of the caller exceeds a limit. */
export function diagnose(input: SignatureInput): Omit<SignatureDiagnosis, 'chain'> {
  const { quote, signature, signer, signed, nowMs } = input
  const digest = hashTypedData(quote.typedData)
  const deadlineMs = Number(quote.typedData.message.deadline) * 1000
  const { parts, findings: formatFindings, isPredeploy } = parseSignature(signature, signer)
  const recover = parts && addressRecovery(parts)
  const recovered = recover?.(digest)
  const findings: SignatureFinding[] = [...formatFindings]
  if (parts && !recovered) findings.push({ field: 'signature', message: 'is invalid: no key can have made it' })
  const isBySigner = recovered !== undefined && recovered === signer?.toLowerCase()
  if (recover && signer !== undefined && !isBySigner) {
    const flipped = addressRecovery({ ...parts, isOdd: !parts.isOdd })
    findings.push(...findReasons(quote, { recover, flipped, signer: signer.toLowerCase(), signed, digest }))
  } else if (recover && signed !== undefined) {
    findings.push(...findDifferences(quote.typedData, signed))
  }
  const good = recovered !== undefined && formatFindings.length === 0 && (signer === undefined || isBySigner)
  return {
    verdict: good ? (signer === undefined ? 'unknown' : 'good') : isPredeploy ? 'unknown' : 'bad',
    signer: recovered === undefined ? null : checksumAddress(recovered),
    digest: `0x${digest.toHex()}`,
    findings,
    deadline: new Date(deadlineMs).toISOString(),
    deadlinePassed: nowMs > deadlineMs,
    expired: nowMs >= Date.parse(quote.expiresAt),
  }
}

interface Evidence {
  readonly recover: RecoverAddress
  /** The same signature with the other v. */
  readonly flipped: RecoverAddress | undefined
  readonly signer: string
  readonly signed: unknown
  readonly digest: Uint8Array
}

function findReasons(quote: SignatureInput['quote'], evidence: Evidence): readonly SignatureFinding[] {
  const { recover, flipped, signer, signed, digest } = evidence
  if (flipped?.(digest) === signer) {
    return [{ field: 'signature.v', message: 'must be 28 instead of 27, or 27 instead of 28; r and s are correct' }]
  }
  if (signed !== undefined) {
    const signedFindings = findingsOfSigned(quote, evidence)
    if (signedFindings) return signedFindings
  }
  for (const { document, ...finding } of listSigningMistakes(quote, quote.typedData, signer)) {
    if (recover(hashTypedData(document)) === signer) return [finding]
  }
  const method = findWrongMethod(quote, evidence)
  if (method) return [method]
  return [
    {
      field: 'signer',
      message:
        signed === undefined
          ? 'is a different key, or more than one field differs; send the signed typed data to see which'
          : 'is a different key: the signature matches neither the quote nor the typed data that was sent',
      expected: checksumAddress(signer),
      found: recover(digest) ?? 'none',
    },
  ]
}

/** If the signature is over the typed data that the caller sent, its differences from the quote explain everything. */
function findingsOfSigned({ typedData }: SignatureInput['quote'], { recover, signer, signed }: Evidence) {
  const digest = digestOf(() => withDomainType(signed as Partial<TypedDocument>))
  if (!digest)
    return [{ field: 'typedData', message: 'cannot be hashed: it is not EIP-712, or a value does not fit its type' }]
  if (recover(digest) !== signer) return undefined
  return findDifferences(typedData, signed)
}

/** Some libraries add the domain type themselves, so callers may send documents without it. */
function withDomainType(document: Partial<TypedDocument>): TypedDocument {
  const names = { name: 'string', version: 'string', chainId: 'uint256', verifyingContract: 'address', salt: 'bytes32' }
  const { domain = {}, types = {}, primaryType = 'PermitWitnessTransferFrom', message = {} } = document
  const usual = Object.entries(names)
    .filter(([name]) => Object.hasOwn(domain, name))
    .map(([name, type]) => ({ name, type }))
  return { domain, types: { EIP712Domain: usual, ...types }, primaryType, message }
}

function digestOf(document: () => TypedDocument): Uint8Array | undefined {
  try {
    return hashTypedData(document())
  } catch (error) {
    if (error instanceof TypedDataTooLarge) throw error
    return undefined
  }
}

/** The correct typed data, signed with the wrong method. */
function findWrongMethod(
  { typedData }: SignatureInput['quote'],
  { recover, signer, digest }: Evidence,
): SignatureFinding | undefined {
  const utf8 = new TextEncoder()
  const personal = (message: Uint8Array) =>
    keccak_256(Buffer.concat([utf8.encode(`\x19Ethereum Signed Message:\n${message.length}`), message]))
  const { types, primaryType, message } = typedData
  const methods: readonly [string, Uint8Array][] = [
    ['the digest was signed as a personal message; use signTypedData', personal(digest)],
    [
      'the hexadecimal text of the digest was signed as a personal message; use signTypedData',
      personal(utf8.encode(`0x${digest.toHex()}`)),
    ],
    ['the message was signed without its domain; use signTypedData', hashStruct(types, primaryType, message)],
  ]
  const method = methods.find(([, hash]) => recover(hash) === signer)
  return method && { field: 'method', message: method[0] }
}
