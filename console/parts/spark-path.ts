// The geometry of a sparkline.

export const [width, height, inset] = [96, 22, 4]

type Values = readonly (number | null)[]
type Range = readonly [low: number, high: number]

function positionOf(values: Values, [low, high]: Range) {
  const step = (width - 2 * inset) / Math.max(1, values.length - 1)
  const share = (value: number) => (high === low ? 0.5 : (Math.min(high, Math.max(low, value)) - low) / (high - low))
  return {
    x: (at: number) => (inset + at * step).toFixed(1),
    y: (value: number) => (height - inset - share(value) * (height - 2 * inset)).toFixed(1),
  }
}

/** A single point between gaps becomes a short line, so that it is visible. */
export function sparkPath(values: Values, range: Range): string {
  const { x, y } = positionOf(values, range)
  return values
    .map((value, at) => {
      if (value === null) return ''
      const isStart = values[at - 1] == null
      const isAlone = isStart && values[at + 1] == null
      return `${isStart ? 'M' : 'L'}${x(at)} ${y(value)}${isAlone ? 'h1' : ''}`
    })
    .join('')
}

/** The newest of the lowest values; undefined without values. */
export function lowestPoint(values: Values, range: Range) {
  const lowest = Math.min(...values.map((value) => value ?? Number.POSITIVE_INFINITY))
  const at = values.lastIndexOf(lowest)
  if (at < 0) return undefined
  const { x, y } = positionOf(values, range)
  return { value: lowest, x: x(at), y: y(lowest) }
}

/** A common range for several lines, at least one point high. */
export function rangeOf(lines: readonly (readonly (number | null)[])[]): readonly [number, number] {
  const known = lines.flat().filter((value) => value !== null)
  if (known.length === 0) return [0, 1]
  const [low, high] = known.reduce(([min, max], value) => [Math.min(min, value), Math.max(max, value)], [
    Number.POSITIVE_INFINITY,
    Number.NEGATIVE_INFINITY,
  ] as readonly [number, number])
  return [Math.min(low, high - 1), high]
}
