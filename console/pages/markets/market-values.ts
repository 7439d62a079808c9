// Values of a market record as the pages show them: outcomes with prices, status, addresses. Sources write lists as JSON
// text; text that is not a JSON list counts as an empty list.
import type { Market } from '#api/contract/wire/markets.ts'
import { shortenHex } from '../../parts/format.ts'

export function listIn(text: unknown): readonly string[] {
  if (typeof text !== 'string') return []
  try {
    const list: unknown = JSON.parse(text)
    return Array.isArray(list) ? list.map(String) : []
  } catch {
    return []
  }
}

/** `price` is the text of the source, `share` the price limited to 0 … 1, as the width of a bar. */
export function outcomesOf({ outcomes, outcomePrices }: Pick<Market, 'outcomes' | 'outcomePrices'>) {
  const prices = listIn(outcomePrices)
  return listIn(outcomes).map((name, index) => {
    const price = prices[index]
    const share = Number(price)
    return { name, share: Math.min(1, Math.max(0, share || 0)), ...(price !== undefined && { price }) }
  })
}

type Flags = Pick<Market, 'archived' | 'closed' | 'active' | 'acceptingOrders'>

export function marketStatus({ archived, closed, active, acceptingOrders }: Flags) {
  if (archived) return { label: 'archived', tone: '' }
  if (closed) return { label: 'closed', tone: '' }
  if (active === false) return { label: 'not open yet', tone: 'warn' }
  if (acceptingOrders === false) return { label: 'open, not accepting orders', tone: 'warn' }
  return { label: 'open', tone: 'good' }
}

const addressPattern = /^0x[0-9a-fA-F]{40}$/
const mentionsMax = 20
const depthMax = 6

/** Every address in the record and the fields that contain it, those of the market's own fields first. */
export function addressesIn(market: object) {
  const fieldsByAddress = new Map<string, string[]>()
  const visit = (value: unknown, path: string, depth: number): void => {
    if (typeof value === 'string' && addressPattern.test(value)) {
      const address = value.toLowerCase()
      const fields = fieldsByAddress.get(address)
      if (fields) fields.push(path)
      else if (fieldsByAddress.size < mentionsMax) fieldsByAddress.set(address, [path])
    }
    if (typeof value !== 'object' || value === null || depth === depthMax) return
    const members = Object.entries(value).map(
      ([name, member]) => [Array.isArray(value) ? path : path === '' ? name : `${path}.${name}`, member] as const,
    )
    const isNested = (member: unknown) => typeof member === 'object' && member !== null
    for (const [name, member] of members) if (!isNested(member)) visit(member, name, depth + 1)
    for (const [name, member] of members) if (isNested(member)) visit(member, name, depth + 1)
  }
  visit(market, '', 0)
  return [...fieldsByAddress].map(([address, fields]) => ({ address, fields: [...new Set(fields)] }))
}

/** A price between 0 and 1 as a percentage. Keeps every digit; text that is not a decimal stays unchanged. */
export function formatPercent(price: string): string {
  const [, whole, part = ''] = /^(\d+)(?:\.(\d+))?$/.exec(price) ?? []
  if (whole === undefined) return price
  const digits = part.padEnd(2, '0')
  const rest = digits.slice(2).replace(/0+$/, '')
  return `${BigInt(whole + digits.slice(0, 2))}${rest && `.${rest}`} %`
}

/** `marketMakerAddress` → `market maker address`. */
export const fieldLabel = (field: string): string =>
  field.replace(/([a-z0-9])([A-Z])/g, (_, before: string, after: string) => `${before} ${after.toLowerCase()}`)

const derivedPattern = /(Clob|Amm|PriceChange)$|^volume\d|^(volumeNum|liquidityNum|competitive|spread)$/

/** Whether the source computes the field from others: shares of venues, sums of a period, price changes, duplicates. */
export const isDerived = (field: string): boolean => derivedPattern.test(field)

/** Tokens that markets are denominated in, by contract. */
const tokenNames: Readonly<Record<string, string>> = {
  '0x2791bca1f2de4661ed88a30c99a7a9449aa84174': 'USDC',
  '0x3c499c542cef5e3811e1192ce70d8cc03d5c3359': 'USDC',
  '0xc2132d05d31c914a87c6611c10748aeb04b58e8f': 'USDT',
}

/** The currency of prices and volumes. An unknown token is shown by its address; undefined: the source names none. */
export function currencyOf({ denominationToken }: Pick<Market, 'denominationToken'>): string | undefined {
  if (!denominationToken) return undefined
  return tokenNames[denominationToken.toLowerCase()] ?? shortenHex(denominationToken)
}
