// The value of a changed field as short text.
import { stringifyJson } from '#api/contract/json.ts'
import { alignDecimals, groupThousands } from '../../parts/format.ts'
import { listIn } from './market-values.ts'

const charsMax = 80

/**
 * Both values of a change. Decimals, also in lists, get the same number of digits after the point, and separators of
 * thousands. Whole numbers stay as they are: many are ids.
 */
export function formatChange(before: unknown, after: unknown): readonly [before: string, after: string] {
  const lists = [before, after].map((value) => (isDecimal(value) ? [String(value)] : listIn(value)))
  const all = lists.flat()
  if (!all.every(isDecimal) || !all.some((text) => text.includes('.'))) return [formatValue(before), formatValue(after)]
  const aligned = alignDecimals(all).map(groupThousands)
  const [first = []] = lists
  const join = (texts: readonly string[], value: unknown) => texts.join(' · ') || formatValue(value)
  return [join(aligned.slice(0, first.length), before), join(aligned.slice(first.length), after)]
}

const isDecimal = (value: unknown): boolean => /^-?\d+(\.\d+)?$/.test(String(value))

export function formatValue(value: unknown): string {
  if (value === undefined || value === null || value === '') return 'empty'
  if (value === true) return 'yes'
  if (value === false) return 'no'
  const list = typeof value === 'string' && value.startsWith('[') ? listIn(value) : []
  const text = list.length > 0 ? list.join(' · ') : typeof value === 'object' ? stringifyJson(value) : String(value)
  return text.length > charsMax ? `${text.slice(0, charsMax - 1)}…` : text
}
