// Parses path, query, headers and body into the input of an endpoint and validates it. Text is parsed strictly: "0x10",
// "1e3" and " 7" are not integers.
import { parseJson } from '#api/contract/json.ts'
import type { Endpoint, Parsed, TSchema } from '#api/contract/kit.ts'
import { type InputLocation, inputLocation } from '#api/contract/routes.ts'
import type { JsonSchema } from '#api/contract/schema.ts'
import { Fault, invalid, type Problem } from '#core/fault.ts'
import { checker } from '#core/schema-check.ts'
import type { RawQuery } from './handler.ts'
import { unknownMembers } from './unknown-names.ts'

/** A request after aliases were applied. Header names are lower case; so are query names if the endpoint ignores case. */
export interface RequestParts {
  readonly params: Readonly<Record<string, string>>
  readonly query: RawQuery
  readonly headers: Readonly<Record<string, string | undefined>>
  readonly contentType: string
  readonly body: Uint8Array | undefined
}

interface InputReader {
  readonly name: string
  readonly location: Exclude<InputLocation, 'body'>
  /** Its name in the request. */
  readonly wireName: string
  readonly schema: JsonSchema
  /** An empty value is an error, and does not count as absent. */
  readonly isEmptyRefused: boolean
}

/** The same limit as in core/schema-check.ts. */
const problemsMax = 20
const integerText = /^-?\d{1,16}$/

export function parser<E extends Endpoint>(endpoint: E): (parts: RequestParts) => Parsed<E> {
  const readers: InputReader[] = []
  const fromHeader = Object.entries(endpoint.headers ?? {})
  const fromBody: string[] = []
  for (const [name, schema] of Object.entries(endpoint.input.properties as Record<string, TSchema>)) {
    const location = inputLocation(endpoint, name)
    if (location === 'body') fromBody.push(name)
    else {
      const wireName = endpoint.headers?.[name] ?? name
      const isEmptyRefused = refusesEmpty(endpoint, location, schema as JsonSchema)
      readers.push({ name, location, wireName, schema: schema as JsonSchema, isEmptyRefused })
    }
  }
  const check = checker(endpoint.input)
  const members = membersOf(endpoint, fromBody)
  // Members that belong in a header have a problem of their own.
  const headerNames = new Set(fromHeader.flatMap(([name, wireName]) => [name.toLowerCase(), wireName]))
  function refuseUnknownMembers(body: object): void {
    const others = Object.entries(body).filter(([name]) => !headerNames.has(name.toLowerCase()))
    const unknown = unknownMembers(Object.fromEntries(others), members).slice(0, problemsMax)
    if (unknown.length > 0) throw new Fault('input.unknown', { problems: unknown })
  }
  return (parts) => {
    const input: Record<string, unknown> = {}
    const problems: Problem[] = []
    if (fromBody.length > 0) {
      const body = readBody(parts, members, input)
      refuseUnknownMembers(body)
      for (const [name, wireName] of fromHeader) reportMisplacedHeader(body, name, wireName, problems)
    }
    for (const reader of readers) readInput(reader, parts, input, problems)
    for (const problem of check(input)) problems.push(locateProblem(endpoint, problem))
    problems.length = Math.min(problems.length, problemsMax)
    if (problems.length > 0) throw new Fault('input.invalid', { problems })
    return input as Parsed<E>
  }
}

const membersOf = ({ input }: Endpoint, names: readonly string[]): Readonly<Record<string, JsonSchema>> =>
  Object.fromEntries(names.map((name) => [name, input.properties[name] as JsonSchema]))

function readInput(
  reader: InputReader,
  parts: RequestParts,
  input: Record<string, unknown>,
  problems: Problem[],
): void {
  const raw = rawValue(reader, parts)
  if (raw === undefined) return
  if (raw === '' && !isText(reader.schema)) {
    if (reader.isEmptyRefused) problems.push({ at: [reader.location, reader.wireName], message: 'must not be empty' })
    return
  }
  if (reader.schema.type === 'array') {
    const items = (typeof raw === 'string' ? [raw] : raw)
      .flatMap((text) => text.split(','))
      .filter((text) => text !== '')
      // One item more than allowed is enough for the schema to reject the list.
      .slice(0, (reader.schema.maxItems ?? Number.POSITIVE_INFINITY) + 1)
    if (items.length > 0) input[reader.name] = items.map((text) => parseText(text, reader.schema.items ?? {}))
    else if (reader.isEmptyRefused)
      problems.push({ at: [reader.location, reader.wireName], message: 'must not be empty' })
  } else if (typeof raw === 'string') {
    input[reader.name] = parseText(raw, reader.schema)
  } else {
    problems.push({ at: [reader.location, reader.wireName], message: 'must be given once' })
    input[reader.name] = parseText(raw[0] ?? '', reader.schema)
  }
}

/** Text that may be empty, such as the words of a search. */
const isText = ({ type, minLength, pattern, format, enum: values }: JsonSchema): boolean =>
  type === 'string' && !minLength && !(pattern ?? format ?? values)

/**
 * Whether an empty value is an error: it selects nothing, but the caller meant something. Group A treats it as absent, as
 * its original does. So do most headers, because proxies write empty ones; an empty idempotency key, however, is a mistake
 * of the caller (behaviour/http.md#request-bodies).
 */
const refusesEmpty = ({ group }: Endpoint, location: InputLocation, { minLength }: JsonSchema): boolean =>
  location === 'header' ? minLength !== undefined : group !== 'explorer'

function rawValue(reader: InputReader, parts: RequestParts): string | readonly string[] | undefined {
  if (reader.location === 'path') return parts.params[reader.name]
  if (reader.location === 'header') return parts.headers[reader.wireName]
  return parts.query[reader.wireName]
}

/** Text that does not match the type is returned unchanged; the schema then reports it. */
function parseText(text: string, schema: JsonSchema): unknown {
  if (schema.type === 'integer' && integerText.test(text)) {
    const value = Number(text)
    return Number.isSafeInteger(value) ? value : text
  }
  if (schema.type === 'boolean') {
    const lower = text.toLowerCase()
    if (lower === 'true' || lower === '1') return true
    if (lower === 'false' || lower === '0') return false
  }
  return text
}

/** The caller relies on a header that is in the body (behaviour/http.md#request-bodies). */
function reportMisplacedHeader(body: object, name: string, wireName: string, problems: Problem[]): void {
  for (const [given, value] of Object.entries(body)) {
    if ((given !== name && given.toLowerCase() !== wireName) || value === null) continue
    problems.push({ at: ['body', given], message: `must not be in the body: send it as the header ${wireName}` })
  }
}

function readBody(
  parts: RequestParts,
  members: Readonly<Record<string, JsonSchema>>,
  input: Record<string, unknown>,
): object {
  if (!/^application\/([\w.+-]+\+)?json\s*(;|$)/i.test(parts.contentType)) throw new Fault('body.type')
  const body = parseJsonBody(parts.body)
  if (typeof body !== 'object' || body === null || Array.isArray(body)) {
    throw invalid(['body'], 'must be an object')
  }
  for (const [name, schema] of Object.entries(members)) {
    const value = (body as Record<string, unknown>)[name]
    if (value === undefined || (value === null && schema.default === undefined)) continue
    input[name] = withoutNulls(value)
  }
  return body
}

/** Many serializers write null for absent members (behaviour/http.md#request-bodies). */
const withoutNulls = (value: unknown): unknown =>
  typeof value !== 'object' || value === null || Array.isArray(value)
    ? value
    : Object.fromEntries(Object.entries(value as object).filter(([, member]) => member !== null))

export function parseJsonBody(bytes: Uint8Array | undefined): unknown {
  try {
    // Keeps integers of any size exact (behaviour/http.md#integers-beyond-253).
    return parseJson(new TextDecoder('utf-8', { fatal: true }).decode(bytes))
  } catch (cause) {
    throw new Fault('body.invalid_json', { cause })
  }
}

/** Replaces the input name of the schema by location and wire name. */
function locateProblem(endpoint: Endpoint, problem: Problem): Problem {
  const [name = '', ...rest] = problem.at
  const location = inputLocation(endpoint, name)
  return { ...problem, at: [location, endpoint.headers?.[name] ?? name, ...rest] }
}
