// Encodes a series of values of one fast field. A value is its JSON text, as the record has it, so any value that a record
// can have is exact: a changed type, an integer beyond 2^53, a text. Undefined: the record has no value.
//
// Values are related to the one before in the same series: times and decimal numbers as differences, anything else as text.
// Each form is used only if it gives back the same text.
import type { ByteReader, ByteWriter } from './bytes.ts'

export type FastValue = string | undefined

const forms = { absent: 0, same: 1, text: 2, time: 3, decimal: 4, decimalText: 5 } as const

const digitsMax = 15
const decimalText = /^-?(?:0|[1-9]\d*)(?:\.\d+)?$/

/** A decimal number without rounding: `mantissa / 10^scale`. */
interface Decimal {
  readonly mantissa: number
  readonly scale: number
}

/** Undefined if the text has too many digits, or another form, such as `-0` or `1e21`. */
function parseDecimal(text: string): Decimal | undefined {
  if (text.length > digitsMax + 2 || !decimalText.test(text)) return undefined
  const point = text.indexOf('.')
  const scale = point < 0 ? 0 : text.length - point - 1
  const digits = text.replace('.', '').replace('-', '')
  if (digits.length > digitsMax) return undefined
  const mantissa = Number(digits) * (text.startsWith('-') ? -1 : 1)
  const decimal = { mantissa, scale }
  return formatDecimal(decimal) === text ? decimal : undefined
}

function formatDecimal({ mantissa, scale }: Decimal): string {
  const digits = String(Math.abs(mantissa)).padStart(scale + 1, '0')
  const sign = mantissa < 0 ? '-' : ''
  return scale === 0 ? `${sign}${digits}` : `${sign}${digits.slice(0, -scale)}.${digits.slice(-scale)}`
}

/** Of a JSON text such as `"2026-11-15T12:00:00.000Z"`. */
function parseTime(text: string): number | undefined {
  if (text.length !== 26 || text[0] !== '"' || text[24] !== 'Z') return undefined
  const ms = Date.parse(text.slice(1, -1))
  return Number.isNaN(ms) || formatTime(ms) !== text ? undefined : ms
}

const formatTime = (ms: number): string => `"${new Date(ms).toISOString()}"`
const isQuoted = (text: string): boolean => text.length > 2 && text.startsWith('"') && text.endsWith('"')

/** What the next value of a series is related to. */
class Series {
  last: FastValue
  #timeMs = 0
  #stepMs = 0
  readonly #mantissas: number[] = []

  /** The difference to the time that follows from the last two. */
  timeStep(ms: number): number {
    return ms - this.#timeMs - this.#stepMs
  }

  timeAfter(step: number): number {
    return step + this.#timeMs + this.#stepMs
  }

  sawTime(ms: number): void {
    this.#stepMs = ms - this.#timeMs
    this.#timeMs = ms
  }

  /** The last mantissa with this scale. */
  mantissa(scale: number): number {
    return this.#mantissas[scale] ?? 0
  }

  sawDecimal({ mantissa, scale }: Decimal): void {
    this.#mantissas[scale] = mantissa
  }
}

export function writeValues(writer: ByteWriter, values: readonly FastValue[]): void {
  const series = new Series()
  for (const value of values) {
    writeValue(writer, series, value)
    series.last = value
  }
}

function writeValue(writer: ByteWriter, series: Series, value: FastValue): void {
  const timeMs = value === undefined ? undefined : parseTime(value)
  const isText = value !== undefined && isQuoted(value)
  const decimal = value === undefined ? undefined : parseDecimal(isText ? value.slice(1, -1) : value)
  if (value === undefined) writer.whole(forms.absent)
  else if (value === series.last) writer.whole(forms.same)
  else if (timeMs !== undefined) {
    writer.whole(forms.time)
    writer.signed(series.timeStep(timeMs))
    series.sawTime(timeMs)
  } else if (decimal) {
    // The scale shares a byte with the form.
    writer.whole((isText ? forms.decimalText : forms.decimal) + 8 * decimal.scale)
    writer.signed(decimal.mantissa - series.mantissa(decimal.scale))
    series.sawDecimal(decimal)
  } else {
    writer.whole(forms.text)
    writer.text(value)
  }
}

export function readValues(reader: ByteReader, count: number): FastValue[] {
  const series = new Series()
  const values: FastValue[] = []
  for (let at = 0; at < count; at++) {
    series.last = readValue(reader, series)
    values.push(series.last)
  }
  return values
}

function readValue(reader: ByteReader, series: Series): FastValue {
  const head = reader.whole()
  const [form, scale] = [head % 8, Math.floor(head / 8)]
  if (form === forms.absent) return undefined
  if (form === forms.same) return series.last
  if (form === forms.text) return reader.text()
  if (form === forms.time) {
    const ms = series.timeAfter(reader.signed())
    series.sawTime(ms)
    return formatTime(ms)
  }
  const decimal = { mantissa: reader.signed() + series.mantissa(scale), scale }
  series.sawDecimal(decimal)
  return form === forms.decimalText ? `"${formatDecimal(decimal)}"` : formatDecimal(decimal)
}
