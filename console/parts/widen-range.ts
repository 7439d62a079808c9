// The ranges that a plot shows. Times: at least a minute around the data, null without data. Without this, uPlot shows
// years around a single point.
const secondsMin = 60

export function widenRange(min: number | null, max: number | null): [number, number] | [null, null] {
  if (min === null || max === null) return [null, null]
  const padding = Math.max(0, secondsMin - (max - min)) / 2
  return [min - padding, max + padding]
}

/** The range of an axis, without values that cannot occur. */
export const capRange = ([min, max]: readonly [number | null, number | null], limit: number): [number, number] => [
  Math.min(min ?? limit, limit),
  Math.min(max ?? limit, limit),
]
