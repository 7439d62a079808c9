// A small line without axes, for a cell of a table. The cells next to it have the figures.
import { height, sparkPath, width } from './spark-path.ts'

interface SparklineProps {
  readonly label: string
  /** Null leaves a gap. */
  readonly values: readonly (number | null)[]
  /** The range of the vertical axis: the same for all rows of a table. */
  readonly range: readonly [low: number, high: number]
}

export function Sparkline({ label, values, range }: SparklineProps) {
  return (
    <svg className="sparkline" width={width} height={height} role="img" aria-label={label}>
      <path d={sparkPath(values, range)} />
    </svg>
  )
}
