// The value of a changed field as short text.
import { stringifyJson } from '#api/contract/json.ts'
import { listIn } from './market-values.ts'

const charsMax = 80

export function formatValue(value: unknown): string {
  if (value === undefined || value === null || value === '') return 'empty'
  if (value === true) return 'yes'
  if (value === false) return 'no'
  const list = typeof value === 'string' && value.startsWith('[') ? listIn(value) : []
  const text = list.length > 0 ? list.join(' · ') : typeof value === 'object' ? stringifyJson(value) : String(value)
  return text.length > charsMax ? `${text.slice(0, charsMax - 1)}…` : text
}
