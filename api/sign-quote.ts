// Signs a quote with whatever signer is at hand. Two families of libraries take typed data differently: ethers signers as
// three arguments, viem accounts and wallet clients as one. Neither library is imported.
import { signable } from './signable.ts'
import type { Quote } from './wire/fx.ts'

/** An ethers signer, a viem account, or a viem wallet client. */
export interface QuoteSigner {
  readonly signTypedData: (...parameters: never[]) => Promise<string>
  /** Every ethers signer has this; nothing of viem does. */
  readonly getAddress?: unknown
}

export interface SignOptions {
  /** For a viem wallet client that has no account of its own. */
  readonly account?: unknown
}

type Sign = (...parameters: unknown[]) => Promise<string>

/** The signature to create a trade with: 0x and 65 bytes. */
export async function signQuote(
  quote: Pick<Quote, 'id' | 'typedData'>,
  signer: QuoteSigner,
  { account }: SignOptions = {},
): Promise<string> {
  if (!quote.typedData) throw new TypeError(`quote ${quote.id} is a reference quote: there is nothing to sign`)
  const { domain, types, primaryType, message } = signable(quote.typedData)
  const sign = signer.signTypedData.bind(signer) as unknown as Sign
  if (typeof signer.getAddress === 'function') return sign(domain, types, message)
  return sign({ ...(account !== undefined && { account }), domain, types, primaryType, message })
}
