// Formats the figures and times of a plot: the same number of decimals for all figures of an axis or a column.

/** Formats a value with a number of decimals. A format with decimals of its own ignores `places`. */
export type FormatFigure = (value: number, places: number) => string

const placesMax = 8

/** The decimals that a step between ticks needs: 2 for 0.25. */
export function placesOfStep(step: number): number {
  for (let places = 0; places < placesMax; places += 1) {
    const scaled = step * 10 ** places
    if (Math.abs(scaled - Math.round(scaled)) <= scaled * 1e-9) return places
  }
  return placesMax
}

/** The decimals for a column: as many as its values need, but at most six digits of the largest. */
export function placesOfColumn(values: readonly (number | null)[]): number {
  const known = values.filter((value) => value !== null)
  const largest = known.reduce((max, value) => Math.max(max, Math.abs(value)), 0)
  const digits = largest === 0 ? 0 : Math.floor(Math.log10(largest)) + 1
  const limit = Math.min(placesMax, Math.max(0, 6 - digits))
  return known.reduce((places, value) => Math.max(places, Math.min(limit, placesOfStep(Math.abs(value)))), 0)
}

export const formatFigure: FormatFigure = (value, places) =>
  value.toLocaleString('en', { minimumFractionDigits: places, maximumFractionDigits: places })

const suffixes = [
  [1e12, 'T'],
  [1e9, 'B'],
  [1e6, 'M'],
  [1e3, 'k'],
] as const

/** A large figure in short: `1.2 M`. Show the exact figure elsewhere. */
export function formatShort(value: number): string {
  // 999 950 would be rounded to 1000.0 k.
  const [size, suffix] = suffixes.find(([from]) => Math.abs(value) >= from * 0.99995) ?? [1, '']
  if (size === 1) return value.toLocaleString('en', { maximumFractionDigits: 0 })
  return `${(value / size).toLocaleString('en', { minimumFractionDigits: 1, maximumFractionDigits: 1 })} ${suffix}`
}

/** A time in the time zone of the reader, with its name. */
export function formatLocalTime(unix: number, hasSeconds: boolean, timeZone?: string): string {
  return new Date(unix * 1000).toLocaleString('en-GB', {
    ...{ day: 'numeric', month: 'short', year: 'numeric', hour: '2-digit', minute: '2-digit', timeZoneName: 'short' },
    ...(hasSeconds && { second: '2-digit' }),
    ...(timeZone !== undefined && { timeZone }),
  } as Intl.DateTimeFormatOptions)
}

/** A label of the time axis in UTC. The format depends on the distance between ticks. */
export function formatTick(unix: number, stepSeconds: number): string {
  const text = new Date(unix * 1000).toISOString()
  if (stepSeconds >= 28 * 86_400) return text.slice(0, 7)
  if (stepSeconds >= 86_400) return text.slice(5, 10)
  const ofDay = text.slice(11, stepSeconds >= 60 ? 16 : 19)
  return ofDay === '00:00' ? text.slice(5, 10) : ofDay
}
