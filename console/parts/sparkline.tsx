// A small line of ratings without axes, for a cell of a table, with a point at the worst one. The cells next to it have the
// figures.
import { colourOf, levelOf } from './rating-scale.ts'
import { height, lowestPoint, sparkPath, width } from './spark-path.ts'

interface SparklineProps {
  readonly label: string
  /** Null leaves a gap. */
  readonly values: readonly (number | null)[]
  /** The range of the vertical axis: the same for all rows of a table. */
  readonly range: readonly [low: number, high: number]
}

export function Sparkline({ label, values, range }: SparklineProps) {
  const lowest = lowestPoint(values, range)
  return (
    <svg className="sparkline" width={width} height={height} role="img" aria-label={label}>
      <path d={sparkPath(values, range)} />
      {lowest && <circle cx={lowest.x} cy={lowest.y} r={3} style={{ fill: colourOf(levelOf(lowest.value)) }} />}
    </svg>
  )
}
