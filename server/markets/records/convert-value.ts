// Converts a value to the type of its field in the contract, if the meaning is certain: decimal text to a number, a number
// to decimal text, and other time formats to ISO 8601. Feeds change the types of fields without notice, and one such field
// must not make a market unavailable.
import { parseJson } from '#api/contract/json.ts'
import type { TSchema } from '#api/contract/kit.ts'
import { sourceMs } from './source-time.ts'

/** The parts of a schema that decide how a value is converted. */
export interface ValueSchema {
  readonly type?: string
  readonly format?: string
  readonly items?: TSchema
  readonly properties?: Readonly<Record<string, TSchema>>
}

/** The value itself if it fits, a converted one, or undefined if it cannot be used. */
export function convertValue(schema: TSchema, value: unknown): unknown {
  const { type, format } = schema as ValueSchema
  if (type === 'boolean') return typeof value === 'boolean' ? value : undefined
  if (type === 'number') return toNumber(value)
  if (type !== 'string') return undefined
  return format === 'date-time' ? toIsoTime(value) : toText(value)
}

/** A number as JSON writes it. */
const numberText = /^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?$/

function toNumber(value: unknown): number | bigint | undefined {
  if (typeof value === 'number' || typeof value === 'bigint') return value
  if (typeof value !== 'string' || !numberText.test(value)) return undefined
  const number = parseJson(value) as number | bigint
  return number === Number.POSITIVE_INFINITY || number === Number.NEGATIVE_INFINITY ? undefined : number
}

const plainNumberFormat = new Intl.NumberFormat('en', { useGrouping: false, maximumFractionDigits: 100 })

function toText(value: unknown): string | undefined {
  if (typeof value === 'string') return value
  if (typeof value === 'bigint') return String(value)
  if (typeof value !== 'number') return undefined
  const text = String(value)
  return text.includes('e') ? plainNumberFormat.format(value) : text
}

const timeText = /^(\d{4}-\d\d-\d\d)(?:[Tt ](\d\d:\d\d)(:\d\d(?:\.\d+)?)?(?:[Zz]|([+-]\d\d):?(\d\d)?)?)?$/

/** A time without a zone is UTC; a date is midnight UTC. */
function toIsoTime(value: unknown): string | undefined {
  if (typeof value !== 'string' || sourceMs(value) === undefined) return undefined
  const [, day, minute = '00:00', second = ':00', zoneHour, zoneMinute = '00'] = timeText.exec(value) ?? []
  if (day === undefined) return undefined
  return `${day}T${minute}${second}${zoneHour === undefined ? 'Z' : `${zoneHour}:${zoneMinute}`}`
}
