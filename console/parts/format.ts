// How figures, times and long names read on a page. Amounts are exact: they are cut as text, never turned into floats.

/** 0x and the first and last digits; the whole stands in a title or behind a link. */
export const shortenHex = (hex: string): string => (hex.length > 14 ? `${hex.slice(0, 8)}…${hex.slice(-6)}` : hex)

/** An integer amount in units of 10^decimals, with at most `places` decimals, cut off. */
export function formatUnits(amount: string | bigint | number, decimals = 18, places = 6): string {
  const digits = BigInt(amount)
  const sign = digits < 0n ? '−' : ''
  const text = (digits < 0n ? -digits : digits).toString().padStart(decimals + 1, '0')
  const whole = BigInt(text.slice(0, text.length - decimals)).toLocaleString('en')
  const part = text
    .slice(text.length - decimals)
    .slice(0, places)
    .replace(/0+$/, '')
  return `${sign}${whole}${part === '' ? '' : `.${part}`}`
}

/** One decimal text less another, exactly; without zeros at the end. */
export function subtractDecimals(amount: string, taken: string): string {
  const places = Math.max(...[amount, taken].map((text) => text.split('.')[1]?.length ?? 0))
  const scaled = (text: string): bigint => {
    const [whole = '0', part = ''] = text.split('.')
    return BigInt(whole + part.padEnd(places, '0'))
  }
  const left = scaled(amount) - scaled(taken)
  const digits = (left < 0n ? -left : left).toString().padStart(places + 1, '0')
  const text = places === 0 ? digits : `${digits.slice(0, -places)}.${digits.slice(-places)}`.replace(/\.?0+$/, '')
  return left < 0n ? `−${text}` : text
}

export const ether = (wei: string | bigint): string => `${formatUnits(wei)} ETH`
export const gwei = (amount: string | bigint | number, places = 6): string => `${formatUnits(amount, 9, places)} ETH`

export const formatCount = (value: number | bigint): string => value.toLocaleString('en')
export const formatPercent = (share: number, places = 2): string => `${(share * 100).toFixed(places)} %`

/** Seconds since 1970, or a text of ISO 8601, as UTC. */
export function formatTime(at: number | string): string {
  const when = new Date(typeof at === 'number' ? at * 1000 : at)
  return Number.isNaN(when.getTime()) ? String(at) : `${when.toISOString().slice(0, 19).replace('T', ' ')} UTC`
}

const steps: readonly [seconds: number, word: string][] = [
  [86_400, 'd'],
  [3600, 'h'],
  [60, 'min'],
  [1, 's'],
]

/** How long: `3 d 4 h`, `12 s`. */
export function formatDuration(seconds: number): string {
  const found = steps.findIndex(([size]) => seconds >= size)
  if (found < 0) return '0 s'
  const [[size, word], next] = [steps[found] as [number, string], steps[found + 1]]
  const rest = next && found < 2 ? Math.floor((seconds % size) / next[0]) : 0
  return `${Math.floor(seconds / size)} ${word}${rest > 0 && next ? ` ${rest} ${next[1]}` : ''}`
}
