// The stretch of time that a plot shows. A single point has no length, and an axis made up around it would have years.

const secondsMin = 60

/** At least a minute, around what is there; as a plot gives them, null where there is nothing. */
export function widened(min: number | null, max: number | null): [number, number] | [null, null] {
  if (min === null || max === null) return [null, null]
  const lacking = Math.max(0, secondsMin - (max - min)) / 2
  return [min - lacking, max + lacking]
}
