// Formats figures, times and hex strings. Amounts are exact: they are cut as text and never become floats.

/** The first and last digits: `0xababab…ababab`. Show the full text in a title or behind a link. */
export const shortenHex = (hex: string): string => (hex.length > 14 ? `${hex.slice(0, 8)}…${hex.slice(-6)}` : hex)

/** An integer amount in units of 10^decimals, cut to at most `places` decimals, and with at least `placesMin`. */
export function formatUnits(amount: string | bigint | number, decimals = 18, places = 6, placesMin = 0): string {
  const digits = BigInt(amount)
  const sign = digits < 0n ? '−' : ''
  const text = (digits < 0n ? -digits : digits).toString().padStart(decimals + 1, '0')
  const whole = BigInt(text.slice(0, text.length - decimals)).toLocaleString('en')
  const part = text
    .slice(text.length - decimals)
    .slice(0, places)
    .replace(/0+$/, '')
    .padEnd(placesMin, '0')
  return `${sign}${whole}${part === '' ? '' : `.${part}`}`
}

/** Subtracts two decimal texts exactly, without trailing zeros. */
export function subtractDecimals(amount: string, subtrahend: string): string {
  const places = Math.max(...[amount, subtrahend].map((text) => text.split('.')[1]?.length ?? 0))
  const scaled = (text: string): bigint => {
    const [whole = '0', part = ''] = text.split('.')
    return BigInt(whole + part.padEnd(places, '0'))
  }
  const difference = scaled(amount) - scaled(subtrahend)
  const digits = (difference < 0n ? -difference : difference).toString().padStart(places + 1, '0')
  const text = places === 0 ? digits : `${digits.slice(0, -places)}.${digits.slice(-places)}`.replace(/\.?0+$/, '')
  return difference < 0n ? `−${text}` : text
}

/** A fraction of two positive integers as a decimal with `digits` significant digits, cut. */
export function divideIntegers(numerator: string, denominator: string, digits = 12): string {
  const places = 60
  const scaled = String((BigInt(numerator) * 10n ** BigInt(places)) / BigInt(denominator)).padStart(places + 1, '0')
  const [whole, part] = [scaled.slice(0, -places), scaled.slice(-places)]
  // Zeros before the first other digit are not significant.
  const kept = whole === '0' ? part.search(/[1-9]|$/) + digits : Math.max(0, digits - whole.length)
  return `${whole}.${part.slice(0, kept)}`.replace(/\.?0*$/, '')
}

export const ether = (wei: string | bigint): string => `${formatUnits(wei)} ETH`
/** Always with `places` decimals, so that amounts below each other line up. */
export const gwei = (amount: string | bigint | number, places = 6): string =>
  `${formatUnits(amount, 9, places, places)} ETH`

/** Decimal texts with as many decimals as the longest of them needs. Keeps every digit. */
export function alignDecimals(texts: readonly string[]): readonly string[] {
  const placesOf = (text: string): number => text.split('.')[1]?.length ?? 0
  const places = Math.max(0, ...texts.map(placesOf))
  return texts.map((text) => {
    const missing = '0'.repeat(places - placesOf(text))
    return missing === '' || text.includes('.') ? `${text}${missing}` : `${text}.${missing}`
  })
}

/** A decimal text with thousands separators. Keeps every digit. */
export function groupThousands(text: string): string {
  const [, sign = '', whole = '', part = ''] = /^(-?)(\d+)(\.\d+)?$/.exec(text) ?? []
  return whole === '' ? text : `${sign && '−'}${BigInt(whole).toLocaleString('en')}${part}`
}

export const formatCount = (value: number | bigint): string => value.toLocaleString('en')
export const formatPercent = (share: number, places = 2): string => `${(share * 100).toFixed(places)} %`

/** Unix seconds, or an ISO 8601 text, as UTC. */
export function formatTime(at: number | string): string {
  const when = new Date(typeof at === 'number' ? at * 1000 : at)
  return Number.isNaN(when.getTime()) ? String(at) : `${when.toISOString().slice(0, 19).replace('T', ' ')} UTC`
}

/** Both dates are included. */
export const formatDates = (first: string | null, last: string | null): string =>
  first === last ? `${first}` : `${first} to ${last}`

const units: readonly [seconds: number, unit: string][] = [
  [86_400, 'd'],
  [3600, 'h'],
  [60, 'min'],
  [1, 's'],
]

/** A duration in one or two units: `3 d 4 h`, `12 s`. */
export function formatDuration(seconds: number): string {
  const index = units.findIndex(([size]) => seconds >= size)
  if (index < 0) return '0 s'
  const [[size, unit], next] = [units[index] as [number, string], units[index + 1]]
  const rest = next && index < 2 ? Math.floor((seconds % size) / next[0]) : 0
  return `${Math.floor(seconds / size)} ${unit}${rest > 0 && next ? ` ${rest} ${next[1]}` : ''}`
}
