// What a person typed into the one field for finding validators, and the questions that follow from it.

export type SearchField = 'pubkey' | 'pool' | 'nodeOperator' | 'depositAddress' | 'withdrawalAddress'

export type ValidatorSearch =
  /** Names one validator: its page is the answer. */
  | { readonly is: 'one'; readonly id: string }
  /** Each of these may find some. */
  | { readonly is: 'some'; readonly by: readonly SearchField[]; readonly value: string }
  | { readonly is: 'nothing' }

/** Fewer digits of a key would fit too many. */
const keyDigitsMin = 6

export function parseSearch(typed: string): ValidatorSearch {
  const text = typed.trim()
  if (text === '') return { is: 'nothing' }
  if (/^\d{1,12}$/.test(text) || /^(0x)?[0-9a-f]{96}$/i.test(text)) return { is: 'one', id: text }
  if (/^0x[0-9a-f]{40}$/i.test(text)) return { is: 'some', by: ['depositAddress', 'withdrawalAddress'], value: text }
  const digits = /^0x([0-9a-f]*)$/i.exec(text)?.[1]
  if (digits !== undefined && digits.length >= keyDigitsMin) return { is: 'some', by: ['pubkey'], value: text }
  return { is: 'some', by: ['pool', 'nodeOperator'], value: text }
}

/** Whether a name has the typed words in it, in whatever case. */
export const isLike = (name: string, typed: string): boolean => name.toLowerCase().includes(typed.trim().toLowerCase())
