// What a search text can be. A text can be several things at once: `12` is a validator and a market.

export interface SearchTargets {
  /** An address in lower case. */
  readonly address?: string
  /** A transaction hash in lower case. */
  readonly transaction?: string
  readonly quote?: string
  readonly validatorIndex?: number
  /** A public key or its start. */
  readonly pubkey?: string
  readonly marketId?: string
  /** Words of a name or question. */
  readonly words?: string
}

const secretPattern = /^tetrad:|\blink_/
const quotePattern = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/
/** Fewer digits of a public key would match too many validators. */
const keyDigitsMin = 6

export function interpretSearch(typed: string): SearchTargets {
  const text = typed.trim().slice(0, 200)
  const lower = text.toLowerCase()
  // A key or the token of a sign-in link was pasted here by mistake. It must not be sent as a search.
  if (text === '' || secretPattern.test(text)) return {}
  if (quotePattern.test(lower)) return { quote: lower }
  const validator = /^validator\s*#?\s*(\d{1,12})$/.exec(lower)?.[1]
  if (validator !== undefined) return { validatorIndex: Number(validator) }
  if (/^\d{1,12}$/.test(text)) return { validatorIndex: Number(text), marketId: text }
  const digits = /^(?:0x)?([0-9a-f]+)$/.exec(lower)?.[1]
  if (digits?.length === 96) return { pubkey: `0x${digits}` }
  if (!lower.startsWith('0x') || digits === undefined) return { words: text }
  if (digits.length === 40) return { address: lower }
  if (digits.length === 64) return { transaction: lower, pubkey: lower }
  return { words: text, ...(digits.length >= keyDigitsMin && digits.length < 96 && { pubkey: lower }) }
}
