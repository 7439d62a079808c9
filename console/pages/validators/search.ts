// Parses the text of the search field: the id of one validator, or a value for one or more search fields.

export type SearchField = 'pubkey' | 'depositAddress' | 'withdrawalAddress'

type ValidatorSearch =
  /** The index or public key of one validator. */
  | { readonly kind: 'one'; readonly id: string }
  /** Search by each of these fields. */
  | { readonly kind: 'some'; readonly by: readonly SearchField[]; readonly value: string }
  /** Part of the name of a pool or operator. */
  | { readonly kind: 'name'; readonly value: string }
  | { readonly kind: 'empty' }

/** Fewer digits of a public key would match too many validators. */
const keyDigitsMin = 6

export function parseSearch(typed: string): ValidatorSearch {
  const text = typed.trim()
  if (text === '') return { kind: 'empty' }
  if (/^\d{1,12}$/.test(text) || /^(0x)?[0-9a-f]{96}$/i.test(text)) return { kind: 'one', id: text }
  if (/^0x[0-9a-f]{40}$/i.test(text)) return { kind: 'some', by: ['depositAddress', 'withdrawalAddress'], value: text }
  const digits = /^0x([0-9a-f]*)$/i.exec(text)?.[1]
  if (digits !== undefined && digits.length >= keyDigitsMin) return { kind: 'some', by: ['pubkey'], value: text }
  return { kind: 'name', value: text }
}
