// Who an encoded transaction of a payload transfers ether to. It is read from the RLP fields without verifying the
// signature: the block that contains the transaction is verified.

/** Index of the field `to`, by transaction type. The next field is the value. Legacy transactions are a list. */
const toFieldOf = new Map([
  [1, 4],
  [2, 5],
  [3, 5],
  [4, 5],
])
const legacyToField = 3
const addressSize = 20

/** Lower-case 0x text; null: no ether is transferred to an address. Undefined: the type is unknown, or it is invalid. */
export function transferRecipient(transaction: Uint8Array): string | null | undefined {
  const type = transaction[0] ?? 0
  const isLegacy = type >= 0xc0
  const toField = isLegacy ? legacyToField : toFieldOf.get(type)
  if (toField === undefined) return undefined
  const list = readItem(transaction, isLegacy ? 0 : 1)
  if (!list?.isList) return undefined
  let at = list.from
  for (let field = 0; field < toField; field++) {
    const item = readItem(transaction, at)
    if (!item) return undefined
    at = item.until
  }
  const to = readItem(transaction, at)
  const value = to && readItem(transaction, to.until)
  if (!value) return undefined
  const address = transaction.subarray(to.from, to.until)
  return address.length === addressSize && value.until > value.from ? `0x${Buffer.from(address).toString('hex')}` : null
}

/** An RLP item whose content is the bytes from `from` to `until`; undefined: it is not within the bytes. */
function readItem(bytes: Uint8Array, at: number): { isList: boolean; from: number; until: number } | undefined {
  const prefix = bytes[at]
  if (prefix === undefined) return undefined
  const isList = prefix >= 0xc0
  const base = isList ? 0xc0 : 0x80
  if (prefix < base) return { isList, from: at, until: at + 1 }
  const isShort = prefix - base <= 55
  const lengthBytes = isShort ? 0 : prefix - base - 55
  const from = at + 1 + lengthBytes
  const length = isShort ? prefix - base : bytes.subarray(at + 1, from).reduce((sum, byte) => sum * 256 + byte, 0)
  return from + length <= bytes.length ? { isList, from, until: from + length } : undefined
}
