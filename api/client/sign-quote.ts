// Signs a quote with a signer of ethers (three arguments) or viem (one argument), without importing either library.

import type { Quote } from '../contract/wire/fx.ts'
import { signable } from './signable.ts'

/** An ethers signer, a viem account, or a viem wallet client. */
export interface QuoteSigner {
  readonly signTypedData: (...parameters: never[]) => Promise<string>
  /** Only ethers signers have this. */
  readonly getAddress?: unknown
}

export interface SignOptions {
  /** For a viem wallet client without an account. */
  readonly account?: unknown
}

type Sign = (...parameters: unknown[]) => Promise<string>

/** Returns the signature: 0x and 65 bytes in hexadecimal digits. */
export async function signQuote(
  quote: Pick<Quote, 'id' | 'typedData'>,
  signer: QuoteSigner,
  { account }: SignOptions = {},
): Promise<string> {
  if (!quote.typedData) throw new TypeError(`quote ${quote.id} is a reference quote, which cannot be signed`)
  const { domain, types, primaryType, message } = signable(quote.typedData)
  const sign = signer.signTypedData.bind(signer) as unknown as Sign
  if (typeof signer.getAddress === 'function') return sign(domain, types, message)
  return sign({ ...(account !== undefined && { account }), domain, types, primaryType, message })
}
