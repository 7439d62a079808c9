// Parses path, query, headers and body into the input of an endpoint and validates it. Text is parsed strictly: "0x10",
// "1e3" and " 7" are not integers.
import { parseJson } from '#api/contract/json.ts'
import type { Endpoint, Parsed, TSchema } from '#api/contract/kit.ts'
import { type InputLocation, inputLocation } from '#api/contract/routes.ts'
import type { JsonSchema } from '#api/contract/schema.ts'
import { Fault, invalid, type Problem } from '#core/fault.ts'
import { checker } from '#core/schema-check.ts'
import type { RawQuery } from './handler.ts'

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
    else readers.push({ name, location, wireName: endpoint.headers?.[name] ?? name, schema: schema as JsonSchema })
  }
  const check = checker(endpoint.input)
  return (parts) => {
    const input: Record<string, unknown> = {}
    const problems: Problem[] = []
    if (fromBody.length > 0) {
      const body = readBody(parts, fromBody, input)
      for (const [name, wireName] of fromHeader) reportMisplacedHeader(body, name, wireName, problems)
    }
    for (const reader of readers) readInput(reader, parts, input, problems)
    for (const problem of check(input)) problems.push(locateProblem(endpoint, problem))
    problems.length = Math.min(problems.length, problemsMax)
    if (problems.length > 0) throw new Fault('input.invalid', { problems })
    return input as Parsed<E>
  }
}

function readInput(
  reader: InputReader,
  parts: RequestParts,
  input: Record<string, unknown>,
  problems: Problem[],
): void {
  const raw = rawValue(reader, parts)
  if (raw === undefined || (raw === '' && !mustNotBeEmpty(reader))) return
  if (reader.schema.type === 'array') {
    const items = (typeof raw === 'string' ? [raw] : raw)
      .flatMap((text) => text.split(','))
      .filter((text) => text !== '')
      // One item more than allowed is enough for the schema to reject the list.
      .slice(0, (reader.schema.maxItems ?? Number.POSITIVE_INFINITY) + 1)
    if (items.length > 0) input[reader.name] = items.map((text) => parseText(text, reader.schema.items ?? {}))
  } else if (typeof raw === 'string') {
    input[reader.name] = parseText(raw, reader.schema)
  } else {
    problems.push({ at: [reader.location, reader.wireName], message: 'must be given once' })
    input[reader.name] = parseText(raw[0] ?? '', reader.schema)
  }
}

/**
 * An empty value counts as absent, because forms and link builders write `from=` for "none". An empty idempotency key,
 * however, is a mistake of the caller (behaviour/http.md#request-bodies).
 */
const mustNotBeEmpty = ({ location, schema }: InputReader): boolean =>
  location === 'header' && schema.minLength !== undefined

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

/** Unknown members are ignored, except a header in the body, because the caller relies on it (behaviour/http.md#request-bodies). */
function reportMisplacedHeader(body: object, name: string, wireName: string, problems: Problem[]): void {
  for (const [given, value] of Object.entries(body)) {
    if ((given !== name && given.toLowerCase() !== wireName) || value === null) continue
    problems.push({ at: ['body', given], message: `must not be in the body: send it as the header ${wireName}` })
  }
}

function readBody(parts: RequestParts, names: readonly string[], input: Record<string, unknown>): object {
  if (!/^application\/([\w.+-]+\+)?json\s*(;|$)/i.test(parts.contentType)) throw new Fault('body.type')
  const body = parseJsonBody(parts.body)
  if (typeof body !== 'object' || body === null || Array.isArray(body)) {
    throw invalid(['body'], 'must be an object')
  }
  for (const name of names) {
    const value = (body as Record<string, unknown>)[name] ?? undefined
    if (value !== undefined) input[name] = withoutNulls(value)
  }
  return body
}

/** Many serializers write null for absent members (behaviour/http.md#request-bodies). */
const withoutNulls = (value: unknown): unknown =>
  typeof value !== 'object' || Array.isArray(value)
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
