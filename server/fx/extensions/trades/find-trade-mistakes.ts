// Compares a stored trade with its quote: the response, the time of acceptance and the signature.
import { parseJson } from '#api/contract/json.ts'
import type { Quote } from '#api/contract/wire/fx.ts'
import type { Trade } from '#api/contract/wire/fx-trades.ts'
import type { StateReader } from '#storage/state.ts'
import { hashTypedData } from '../signature-check/hash-typed-data.ts'
import type { SignedBy } from './trade-store.ts'
import { isSignedByKey } from './verify-signature.ts'

interface Row {
  readonly keyId: string
  readonly quoteKeyId: string
  readonly address: string
  readonly signature: Uint8Array
  readonly signedBy: SignedBy
  readonly acceptedMs: number
  readonly deadlineMs: number
  readonly reply: Uint8Array
  readonly quote: Uint8Array
}

/** Empty: there is none. The signature of a contract wallet cannot be checked afterwards: its code may have changed. */
export async function findTradeMistakes(reader: StateReader, id: string): Promise<readonly string[]> {
  const row = await reader.get<Row>(
    `select t.key_id as "keyId", q.key_id as "quoteKeyId", t.address, t.signature, t.signed_by as "signedBy", t.accepted_ms as "acceptedMs",
       t.deadline_ms as "deadlineMs", t.reply, q.reply as "quote"
     from fx_trades t join fx_quotes q on q.id = t.id where t.id = ?`,
    id,
  )
  if (!row) return []
  const text = new TextDecoder()
  const quote = parseJson(text.decode(row.quote)) as Quote
  const trade = parseJson(text.decode(row.reply)) as Trade
  const { typedData } = quote
  if (!typedData) return ['its quote has nothing to sign']
  const same = JSON.stringify
  return [
    ...(row.keyId === row.quoteKeyId ? [] : ['its quote belongs to another key']),
    ...(row.acceptedMs < Date.parse(quote.expiresAt) ? [] : ['it was accepted after its quote had expired']),
    ...(row.deadlineMs === Number(typedData.message.deadline) * 1000 ? [] : ['its deadline is not that of the quote']),
    ...(trade.id === id && trade.address === row.address ? [] : ['its response is about another trade or address']),
    ...(same([trade.from, trade.to, trade.rate, trade.fee]) === same([quote.from, quote.to, quote.rate, quote.fee])
      ? []
      : ['its amounts are not those of the quote']),
    ...(row.signedBy === 'key' && !isSignedByKey(hashTypedData(typedData), row.address, `0x${row.signature.toHex()}`)
      ? ['its signature is not that of its address']
      : []),
  ]
}
