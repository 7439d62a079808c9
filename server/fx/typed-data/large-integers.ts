// Tells callers about integers of typed data that `JSON.parse` rounds. Quotes are sent as they were stored, so they are found
// in the bytes.

/** Members that can exceed 2^53. The nonce cannot (behaviour/fx.md#typed-data). */
const fields: Readonly<Record<string, string>> = {
  amount: 'typedData.message.permitted.amount',
  fee: 'typedData.message.witness.fee',
}

/** Empty, or the header with the paths of these integers. Amounts outside typed data are text, so they are not found. */
export function largeIntegerHeaders(reply: Uint8Array): Record<string, string> {
  const text = Buffer.from(reply.buffer, reply.byteOffset, reply.byteLength).toString('latin1')
  const large = [...text.matchAll(/"(amount|fee)":(\d{16,})/g)]
    .filter(([, , digits = '']) => BigInt(digits) > BigInt(Number.MAX_SAFE_INTEGER))
    .map(([, name = '']) => fields[name])
  return large.length === 0 ? {} : { 'x-tetrad-large-integers': large.join(',') }
}
