// Parses query strings and form bodies. Explorer and open endpoints do this before the key is checked, so it takes linear
// time and stops at the first pair that exceeds a limit.
import { Fault, invalid } from '#core/fault.ts'
import type { RawQuery } from './handler.ts'

export const namesMax = 64
/** How often a name may repeat, unless the contract allows a longer list. */
export const valuesPerNameMax = 64
const shownNameChars = 64
const ampersand = '&'.charCodeAt(0)

export interface QueryRules {
  /** Maximum lengths of lists that may be longer than `valuesPerNameMax`. */
  readonly listsMax: ReadonlyMap<string, number>
  /** Ignore the case of names and return them in lower case. */
  readonly anyCase: boolean
}

/** The values of all `texts` by name: a string, or a list if a name repeats. Throws a Fault if a limit is exceeded. */
export function readQuery(texts: readonly string[], { listsMax, anyCase }: QueryRules): RawQuery {
  const values: Record<string, string | string[]> = Object.create(null)
  let namesCount = 0
  for (const text of texts) {
    for (let from = 0; from < text.length; ) {
      if (text.charCodeAt(from) === ampersand) {
        from += 1
        continue
      }
      const next = text.indexOf('&', from)
      const until = next < 0 ? text.length : next
      const pair = text.slice(from, until)
      from = until + 1
      const equals = pair.indexOf('=')
      const written = decodeComponent(equals < 0 ? pair : pair.slice(0, equals))
      const name = anyCase ? written.toLowerCase() : written
      const value = equals < 0 ? '' : decodeComponent(pair.slice(equals + 1))
      const present = values[name]
      if (present === undefined) {
        namesCount += 1
        if (namesCount > namesMax) throw tooManyNames()
        values[name] = value
      } else if (typeof present === 'string') {
        values[name] = [present, value]
      } else {
        const valuesMax = listsMax.get(name) ?? valuesPerNameMax
        if (present.length >= valuesMax) throw tooManyValues(name, valuesMax)
        present.push(value)
      }
    }
  }
  return values
}

/** Malformed percent-encoding stays unchanged. Never throws, because exceptions for each pair would be slow. */
function decodeComponent(text: string): string {
  if (!text.includes('%') && !text.includes('+')) return text
  return new URLSearchParams(`=${text}`).get('') as string
}

const tooManyNames = (): Fault =>
  new Fault('input.invalid', { message: `The request has more than ${namesMax} different parameters.` })

const tooManyValues = (name: string, valuesMax: number): Fault =>
  invalid(['query', name.slice(0, shownNameChars)], `must not be given more than ${valuesMax} times`)
