// Writes the numbers of typed data as decimal text, as a server does with `fx.numbersAsText`. The digest to sign is the same.
import type { TypedData } from './wire/fx.ts'

type Message = TypedData['message']

export const messageWithText = (message: Message): Message => ({
  ...message,
  permitted: { ...message.permitted, amount: String(message.permitted.amount) },
  nonce: String(message.nonce),
  deadline: String(message.deadline),
  witness: { ...message.witness, fee: String(message.witness.fee) },
})

/** Of any reply: replaces typed data wherever it is. */
export function withNumbersAsText(value: unknown): unknown {
  if (typeof value !== 'object' || value === null) return value
  if (Array.isArray(value)) return value.map(withNumbersAsText)
  return Object.fromEntries(
    Object.entries(value).map(([name, member]) =>
      name === 'typedData' && isTypedData(member)
        ? [name, { ...member, message: messageWithText(member.message) }]
        : [name, withNumbersAsText(member)],
    ),
  )
}

const isTypedData = (value: unknown): value is TypedData =>
  typeof value === 'object' && value !== null && (value as TypedData).message?.permitted !== undefined
