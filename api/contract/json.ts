// JSON with exact integers: those beyond 2^53 are parsed as bigint and written as plain integers. Everything else equals
// JSON.parse and JSON.stringify. Reviver context and JSON.rawJSON are not used because Node 20 and some browsers lack
// them (behaviour/http.md#integers-beyond-253).

import { endOfString } from './end-of-string.ts'

export type Json = null | boolean | number | bigint | string | Json[] | { [name: string]: Json }

/** A token of at least sixteen digits and nothing else: 2^53 is the first that could be rounded. */
const longInteger = /(?:^|[\s:,[])-?\d{16,}(?=[\s,\]}]|$)/
const integer = /^-?\d+$/
/** A bracket, the start of a string, or a run of anything else that is not punctuation. Complete only for valid JSON. */
const tokenPattern = /[{}[\]"]|[^\s,:{}[\]"]+/g

/** As JSON.parse, errors included, but integers that are not exact as a number become bigint. */
export function parseJson(text: string): unknown {
  const plain: unknown = JSON.parse(text)
  return longInteger.test(text) ? parseValid(text) : plain
}

/** Parses text that JSON.parse has accepted. Uses its own stack, so that deeply nested text does not overflow. */
function parseValid(text: string): Json | undefined {
  const root: { value?: Json } = {}
  const stack: (Json[] | { [name: string]: Json })[] = []
  let name: string | undefined
  for (const token of readTokens(text)) {
    if (token === '}' || token === ']') {
      stack.pop()
      continue
    }
    const holder = stack.at(-1)
    if (holder !== undefined && !Array.isArray(holder) && name === undefined) {
      name = JSON.parse(token) as string
      continue
    }
    const value: Json = token === '{' ? {} : token === '[' ? [] : parseScalar(token)
    if (holder === undefined) root.value = value
    else if (Array.isArray(holder)) holder.push(value)
    else setMember(holder, name as string, value)
    name = undefined
    if (token === '{' || token === '[') stack.push(value as Json[] | { [name: string]: Json })
  }
  return root.value
}

function* readTokens(text: string): Generator<string> {
  const pattern = new RegExp(tokenPattern)
  for (let match = pattern.exec(text); match; match = pattern.exec(text)) {
    if (match[0] === '"') pattern.lastIndex = endOfString(text, match.index)
    yield text.slice(match.index, pattern.lastIndex)
  }
}

function parseScalar(token: string): Json {
  if (integer.test(token) && !Number.isSafeInteger(Number(token))) return BigInt(token)
  return JSON.parse(token) as Json
}

/** `__proto__` must become an ordinary member. */
function setMember(holder: { [name: string]: Json }, name: string, value: Json): void {
  if (name !== '__proto__') holder[name] = value
  else Object.defineProperty(holder, name, { value, writable: true, enumerable: true, configurable: true })
}

/** As JSON.stringify, but bigints are written as bare integers. */
export function stringifyJson(value: unknown, space = 0): string {
  try {
    return JSON.stringify(value, undefined, space) as string
  } catch (error) {
    // JSON.stringify throws a TypeError for bigint. Only then use the slower writer.
    if (!(error instanceof TypeError)) throw error
    return write(value, ' '.repeat(Math.min(space, 10)), '\n', new Set()) as string
  }
}

function write(value: unknown, gap: string, newline: string, above: Set<object>): string | undefined {
  if (typeof value === 'bigint') return String(value)
  if (typeof value !== 'object' || value === null) return JSON.stringify(value)
  if ('toJSON' in value && typeof value.toJSON === 'function') return write(value.toJSON(), gap, newline, above)
  if (above.has(value)) throw new TypeError('A value that contains itself cannot be written as JSON.')
  above.add(value)
  const inner = newline + gap
  const parts = Array.isArray(value)
    ? value.map((item) => write(item, gap, inner, above) ?? 'null')
    : Object.entries(value).flatMap(([name, member]) => {
        const text = write(member, gap, inner, above)
        return text === undefined ? [] : [`${JSON.stringify(name)}:${gap && ' '}${text}`]
      })
  above.delete(value)
  const [open, close] = Array.isArray(value) ? '[]' : '{}'
  if (parts.length === 0) return `${open}${close}`
  return gap ? `${open}${inner}${parts.join(`,${inner}`)}${newline}${close}` : `${open}${parts.join(',')}${close}`
}
