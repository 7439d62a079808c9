// Validates values against schemas, fills in defaults, and describes problems for people. The only file that imports the
// validator.
import { Ajv, type ErrorObject, type ValidateFunction } from 'ajv'
import type { Static, TSchema } from '#api/contract/kit.ts'
import type { Problem } from './fault.ts'
import { withoutKeys } from './key.ts'
import { parseDay, parseTimestamp } from './parse-timestamp.ts'

/** Further problems are not listed: a bad list may have 10 000 of them. */
const problemsMax = 20
const valueCharsMax = 100

// Optimizing the generated code takes longer than it saves. Our own schemas need no check against the meta-schema, which
// would have to be compiled first.
const ajv = new Ajv({
  meta: false,
  validateSchema: false,
  allErrors: true,
  useDefaults: true,
  strict: false,
  verbose: true,
  validateFormats: true,
  code: { optimize: false },
})
ajv.addFormat('date', (text: string) => parseDay(text) !== undefined)
// Feeds omit time zones. Code that needs one checks for it.
ajv.addFormat('date-time', (text: string) => parseTimestamp(text, { zone: 'utc' }) !== undefined)
ajv.addFormat('uri', (text: string) => URL.canParse(text))
ajv.addFormat('uuid', /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i)

/**
 * Fills in defaults and returns the problems. The schema is compiled at the first call, so that a start compiles only what
 * it needs.
 */
export function checker<S extends TSchema>(schema: S): (value: unknown) => readonly Problem[] {
  let validate: ValidateFunction | undefined
  return (value) => {
    validate ??= ajv.compile(schema)
    return validate(value) ? [] : (validate.errors ?? []).slice(0, problemsMax).map(toProblem)
  }
}

interface ObjectSchema {
  readonly default?: unknown
  readonly properties?: Readonly<Record<string, TSchema>>
  readonly required?: readonly string[]
  readonly additionalProperties?: unknown
}

/**
 * The value with defaults filled in, and the problems. Schemas of absent members are not compiled: most of a configuration
 * is defaults.
 */
export function complete<S extends TSchema>(
  schema: S,
  value: unknown,
): { readonly value: Static<S>; readonly problems: readonly Problem[] } {
  const copy: unknown = structuredClone(value)
  if (typeof copy !== 'object' || copy === null || Array.isArray(copy)) {
    return { value: copy as Static<S>, problems: checker(schema)(copy) }
  }
  const members = copy as Record<string, unknown>
  const { properties = {}, required, additionalProperties } = schema as ObjectSchema
  const problems: Problem[] = Object.keys(members)
    .filter((name) => additionalProperties === false && !Object.hasOwn(properties, name))
    .map((name) => ({ at: [name], message: 'is not a known name' }))
  for (const [name, member] of Object.entries(properties)) {
    if (members[name] === undefined) {
      const filled = fillDefaults(member, undefined)
      if (filled !== undefined) members[name] = filled
      else if (required?.includes(name)) problems.push({ at: [name], message: 'is required' })
    } else {
      for (const problem of checker(member)(members[name])) problems.push({ ...problem, at: [name, ...problem.at] })
    }
  }
  return { value: members as Static<S>, problems: problems.slice(0, problemsMax) }
}

/**
 * The value with the defaults that `complete` fills in. Nothing is checked, so no schema has to be compiled: for
 * values that are part of the program.
 */
export function fillDefaults<S extends TSchema>(schema: S, value: unknown): Static<S> {
  const { properties, items, default: byDefault } = schema as ObjectSchema & { readonly items?: TSchema }
  const given: unknown = value === undefined ? structuredClone(byDefault) : value
  if (Array.isArray(given)) return (items ? given.map((item) => fillDefaults(items, item)) : given) as Static<S>
  if (typeof given !== 'object' || given === null || !properties) return given as Static<S>
  const filled = Object.entries(properties)
    .map(([name, member]) => [name, fillDefaults(member, (given as Record<string, unknown>)[name])] as const)
    .filter(([, member]) => member !== undefined)
  return { ...given, ...Object.fromEntries(filled) } as Static<S>
}

function toProblem(error: ErrorObject): Problem {
  const at = error.instancePath.split('/').slice(1).map(unescapePointer)
  const params: Members = error.params
  if (error.keyword === 'required') return { at: [...at, String(params.missingProperty)], message: 'is required' }
  if (error.keyword === 'additionalProperties') {
    return { at: [...at, String(params.additionalProperty)], message: 'is not a known name' }
  }
  const message = messages[error.keyword]?.(params, error.parentSchema ?? {}) ?? error.message ?? 'is not valid'
  return { at, message, ...safeValue(error.data) }
}

type Members = Readonly<Record<string, unknown>>

/** By the keyword that the value violates. */
const messages: Readonly<Record<string, (params: Members, schema: Members) => string>> = {
  type: ({ type }) => `must be ${[type].flat().join(' or ')}`,
  enum: ({ allowedValues }) => `must be one of ${[allowedValues].flat().join(', ')}`,
  minimum: ({ limit }) => `must be at least ${limit}`,
  maximum: ({ limit }) => `must be at most ${limit}`,
  minItems: ({ limit }) => `must have at least ${limit} item${limit === 1 ? '' : 's'}`,
  maxItems: ({ limit }) => `must have at most ${limit} items`,
  minLength: ({ limit }) => `must have at least ${limit} character${limit === 1 ? '' : 's'}`,
  maxLength: ({ limit }) => `must have at most ${limit} characters`,
  pattern: ({ pattern }, schema) => `must ${schema['x-must'] ?? `match ${pattern}`}`,
  format: ({ format }) => `must be a valid ${format}`,
}

function safeValue(data: unknown): { value?: unknown } {
  if (data === undefined || (typeof data === 'object' && data !== null)) return {}
  return { value: typeof data === 'string' ? withoutKeys(data).slice(0, valueCharsMax) : data }
}

const unescapePointer = (part: string): string => part.replaceAll('~1', '/').replaceAll('~0', '~')
