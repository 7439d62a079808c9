// A value of a changed field as a few words.
import { listIn } from './market-values.ts'

const charsMax = 80

export function formatValue(value: unknown): string {
  if (value === undefined || value === null || value === '') return 'nothing'
  if (value === true) return 'yes'
  if (value === false) return 'no'
  const list = typeof value === 'string' && value.startsWith('[') ? listIn(value) : []
  const text =
    list.length > 0 ? list.join(' · ') : typeof value === 'object' ? JSON.stringify(value, plainly) : String(value)
  return text.length > charsMax ? `${text.slice(0, charsMax - 1)}…` : text
}

/** JSON has no integers beyond 2^53; here they are only looked at. */
export const plainly = (_name: string, value: unknown): unknown => (typeof value === 'bigint' ? String(value) : value)
