// Holds a value against a schema: fills in defaults, and says every problem in words a person can act on.
// The only file that names the validator.
import { Ajv, type ErrorObject } from 'ajv'
import type { Static, TSchema } from '#api/kit.ts'
import type { Problem } from './fault.ts'
import { withoutKeys } from './key.ts'

/** Problems beyond this are not listed: one bad list of 10 000 must not become 10 000 sentences. */
const problemsMax = 20
const valueCharsMax = 100

const dayText = /^\d{4}-(0[1-9]|1[0-2])-(0[1-9]|[12]\d|3[01])$/
const timeText = /^\d{4}-\d\d-\d\d[Tt ]\d\d:\d\d(:\d\d(\.\d+)?)?([Zz]|[+-]\d\d:?\d\d)?$/

const ajv = new Ajv({ allErrors: true, useDefaults: true, strict: false, verbose: true, validateFormats: true })
ajv.addFormat('date', (text: string) => dayText.test(text) && isRealDay(text))
ajv.addFormat('date-time', (text: string) => timeText.test(text) && isRealDay(text.slice(0, 10)))
ajv.addFormat('uri', (text: string) => URL.canParse(text))
ajv.addFormat('uuid', /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i)

/** 2026-02-30 matches the pattern but is no day. */
function isRealDay(text: string): boolean {
  const parsed = new Date(`${text}T00:00:00Z`)
  return !Number.isNaN(parsed.getTime()) && parsed.toISOString().startsWith(text)
}

/** Compiles once; the returned function fills defaults into `value` and lists what is wrong (empty: all is well). */
export function checker<S extends TSchema>(schema: S): (value: unknown) => readonly Problem[] {
  const validate = ajv.compile(schema)
  return (value) => (validate(value) ? [] : (validate.errors ?? []).slice(0, problemsMax).map(toProblem))
}

/** The value with defaults filled in, or the problems. */
export function complete<S extends TSchema>(
  schema: S,
  value: unknown,
): { readonly value: Static<S>; readonly problems: readonly Problem[] } {
  const copy = structuredClone(value)
  const problems = checker(schema)(copy)
  return { value: copy as Static<S>, problems }
}

function toProblem(error: ErrorObject): Problem {
  const at = error.instancePath.split('/').slice(1).map(unescapePointer)
  const params = error.params as Record<string, unknown>
  if (error.keyword === 'required') return { at: [...at, String(params.missingProperty)], says: 'is required' }
  if (error.keyword === 'additionalProperties') {
    return { at: [...at, String(params.additionalProperty)], says: 'is not a known name' }
  }
  return { at, says: words(error, params), ...shown(error.data) }
}

function words(error: ErrorObject, params: Record<string, unknown>): string {
  switch (error.keyword) {
    case 'type':
      return `must be ${[params.type].flat().join(' or ')}`
    case 'enum':
      return `must be one of ${(params.allowedValues as unknown[]).join(', ')}`
    case 'minimum':
      return `must be at least ${params.limit}`
    case 'maximum':
      return `must be at most ${params.limit}`
    case 'minItems':
      return `must have at least ${params.limit} item${params.limit === 1 ? '' : 's'}`
    case 'maxItems':
      return `must have at most ${params.limit} items`
    case 'minLength':
      return `must have at least ${params.limit} character${params.limit === 1 ? '' : 's'}`
    case 'maxLength':
      return `must have at most ${params.limit} characters`
    case 'pattern':
      return `must match ${params.pattern}`
    case 'format':
      return `must be a valid ${params.format}`
    default:
      return error.message ?? 'is not valid'
  }
}

function shown(data: unknown): { value?: unknown } {
  if (data === undefined || (typeof data === 'object' && data !== null)) return {}
  return { value: typeof data === 'string' ? withoutKeys(data).slice(0, valueCharsMax) : data }
}

const unescapePointer = (part: string): string => part.replaceAll('~1', '/').replaceAll('~0', '~')
