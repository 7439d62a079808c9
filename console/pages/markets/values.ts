// The value of a changed field as short text.
import { listIn } from './market-values.ts'

const charsMax = 80

export function formatValue(value: unknown): string {
  if (value === undefined || value === null || value === '') return 'empty'
  if (value === true) return 'yes'
  if (value === false) return 'no'
  const list = typeof value === 'string' && value.startsWith('[') ? listIn(value) : []
  const text =
    list.length > 0
      ? list.join(' · ')
      : typeof value === 'object'
        ? JSON.stringify(value, bigintsAsText)
        : String(value)
  return text.length > charsMax ? `${text.slice(0, charsMax - 1)}…` : text
}

/** A replacer for JSON.stringify, which cannot serialize bigints. */
export const bigintsAsText = (_name: string, value: unknown): unknown =>
  typeof value === 'bigint' ? String(value) : value
