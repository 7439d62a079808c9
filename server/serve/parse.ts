// From what arrived on the wire to the input the contract describes: each value is taken from its place, read by its
// type, and the whole is held against the schema. Text is read strictly: "0x10", "1e3" and " 7" are not integers.
import { parseJson } from '#api/json.ts'
import type { Endpoint, Parsed, TSchema } from '#api/kit.ts'
import { type Place, placeOf } from '#api/routes.ts'
import { checker } from '#core/check.ts'
import { Fault, type Problem } from '#core/fault.ts'
import type { RawQuery } from './answer.ts'

/** One request as it came in, after aliases. Names of headers are lower-case, names of query parameters where the endpoint takes any case. */
export interface Arrival {
  readonly params: Readonly<Record<string, string>>
  readonly query: RawQuery
  readonly headers: Readonly<Record<string, string | undefined>>
  readonly contentType: string
  readonly body: Uint8Array | undefined
}

interface JsonSchema {
  readonly type?: string | readonly string[]
  readonly items?: JsonSchema
  readonly minLength?: number
  readonly maxItems?: number
}

interface Taker {
  readonly name: string
  readonly place: Exclude<Place, 'body'>
  /** Its name in that place. */
  readonly wireName: string
  readonly schema: JsonSchema
}

/** As many as are reported of a schema (core/check.ts). */
const problemsMax = 20
const integerText = /^-?\d{1,16}$/

export function parser<E extends Endpoint>(endpoint: E): (arrival: Arrival) => Parsed<E> {
  const takers: Taker[] = []
  const fromHeader = Object.entries(endpoint.headers ?? {})
  const fromBody: string[] = []
  for (const [name, schema] of Object.entries(endpoint.input.properties as Record<string, TSchema>)) {
    const place = placeOf(endpoint, name)
    if (place === 'body') fromBody.push(name)
    else takers.push({ name, place, wireName: endpoint.headers?.[name] ?? name, schema: schema as JsonSchema })
  }
  const check = checker(endpoint.input)
  return (arrival) => {
    const input: Record<string, unknown> = {}
    const problems: Problem[] = []
    if (fromBody.length > 0) {
      const body = takeBody(arrival, fromBody, input)
      for (const [name, wireName] of fromHeader) misplaced(body, name, wireName, problems)
    }
    for (const taker of takers) take(taker, arrival, input, problems)
    for (const problem of check(input)) problems.push(placed(endpoint, problem))
    problems.length = Math.min(problems.length, problemsMax)
    if (problems.length > 0) throw new Fault('input.invalid', { problems, detail: describe(problems) })
    return input as Parsed<E>
  }
}

function take(taker: Taker, arrival: Arrival, input: Record<string, unknown>, problems: Problem[]): void {
  const raw = rawValue(taker, arrival)
  if (raw === undefined || (raw === '' && !mustSay(taker))) return
  if (taker.schema.type === 'array') {
    const items = (typeof raw === 'string' ? [raw] : raw)
      .flatMap((text) => text.split(','))
      .filter((text) => text !== '')
      // One more than allowed is enough for the schema to reject the list.
      .slice(0, (taker.schema.maxItems ?? Number.POSITIVE_INFINITY) + 1)
    if (items.length > 0) input[taker.name] = items.map((text) => readText(text, taker.schema.items ?? {}))
  } else if (typeof raw === 'string') {
    input[taker.name] = readText(raw, taker.schema)
  } else {
    problems.push({ at: [taker.place, taker.wireName], says: 'must be given once' })
    input[taker.name] = readText(raw[0] ?? '', taker.schema)
  }
}

/**
 * An empty value is a value left out: forms and link builders write `from=` for "none". Not so a header that has to say
 * something: whoever sends an idempotency key relies on it, and an empty one is a mistake on their side (decision 0176).
 */
const mustSay = ({ place, schema }: Taker): boolean => place === 'header' && schema.minLength !== undefined

function rawValue(taker: Taker, arrival: Arrival): string | readonly string[] | undefined {
  if (taker.place === 'path') return arrival.params[taker.name]
  if (taker.place === 'header') return arrival.headers[taker.wireName]
  return arrival.query[taker.wireName]
}

/** The value a text stands for; a text that does not fit stays a text, and the schema says so. */
function readText(text: string, schema: JsonSchema): unknown {
  if (schema.type === 'integer' && integerText.test(text)) {
    const value = Number(text)
    return Number.isSafeInteger(value) ? value : text
  }
  if (schema.type === 'boolean') {
    const word = text.toLowerCase()
    if (word === 'true' || word === '1') return true
    if (word === 'false' || word === '0') return false
  }
  return text
}

/** Other unknown members are nobody's business; this one the caller relies on (decision 0184). */
function misplaced(body: object, name: string, wireName: string, problems: Problem[]): void {
  for (const [given, value] of Object.entries(body)) {
    if ((given !== name && given.toLowerCase() !== wireName) || value === null) continue
    problems.push({ at: ['body', given], says: `must not be in the body: it is sent as the header ${wireName}` })
  }
}

function takeBody(arrival: Arrival, names: readonly string[], input: Record<string, unknown>): object {
  if (!/^application\/([\w.+-]+\+)?json\s*(;|$)/i.test(arrival.contentType)) throw new Fault('body.type')
  const body = readJson(arrival.body)
  if (typeof body !== 'object' || body === null || Array.isArray(body)) {
    throw new Fault('input.invalid', { problems: [{ at: ['body'], says: 'must be an object' }], detail: 'body' })
  }
  for (const name of names) {
    const value = (body as Record<string, unknown>)[name] ?? undefined
    if (value !== undefined) input[name] = withoutNulls(value)
  }
  return body
}

/** Many serializers write null for what is left out: in a body and in its members it means just that (decision 0182). */
const withoutNulls = (value: unknown): unknown =>
  typeof value !== 'object' || Array.isArray(value)
    ? value
    : Object.fromEntries(Object.entries(value as object).filter(([, member]) => member !== null))

function readJson(bytes: Uint8Array | undefined): unknown {
  try {
    // Integers of any size keep their digits (decision 0058).
    return parseJson(new TextDecoder('utf-8', { fatal: true }).decode(bytes))
  } catch (cause) {
    throw new Fault('body.unreadable', { cause })
  }
}

/** The schema speaks of input names; the caller knows places and wire names. */
function placed(endpoint: Endpoint, problem: Problem): Problem {
  const [name = '', ...rest] = problem.at
  const place = placeOf(endpoint, name)
  return { ...problem, at: [place, endpoint.headers?.[name] ?? name, ...rest] }
}

const describe = (problems: readonly Problem[]): string =>
  problems.map((problem) => `${problem.at.join('.')} ${problem.says}`).join('; ')
