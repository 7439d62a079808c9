// A line plot over time, with the same figures in a table below for people who cannot see the plot.
import { useEffect, useRef, useState } from 'preact/compat'
import { type DrawnPlot, drawPlot, formatOrDash, lineColour } from './draw-plot.ts'
import { type FormatFigure, formatFigure, placesOfColumn } from './plot-format.ts'
import { type Column, Table } from './table.tsx'
import './plot.css'

export interface Line {
  readonly label: string
  /** One value for each x; null leaves a gap. */
  readonly values: readonly (number | null)[]
  /** Draw steps: a value holds until the next one. */
  readonly steps?: boolean
  /** The colour of the point of a value, such as `var(--bad)`. Default: that of the line. */
  readonly pointColour?: (value: number) => string | undefined
}

/** A vertical line with a text. */
export interface Mark {
  readonly x: number
  readonly label: string
}

export interface PlotProps {
  /** Also the accessible name of the plot. */
  readonly title: string
  /** Unix seconds, ascending. */
  readonly xs: readonly number[]
  readonly lines: readonly Line[]
  readonly height?: number
  readonly marks?: readonly Mark[]
  /** Start the y axis at zero. */
  readonly fromZero?: boolean
  /** No value is larger, so the y axis ends here at the latest. */
  readonly yMax?: number | undefined
  /** The distances that ticks of the y axis may have. Default: round decimal numbers. */
  readonly ySteps?: readonly number[]
  readonly format?: FormatFigure
  /** A time in UTC. Default: minutes in the table, and the reader's time zone in the tooltip. */
  readonly formatX?: (value: number) => string
  /** Called with the index in `xs` of the point that was clicked. */
  readonly onPick?: (index: number) => void
  /** Called with the dates of a range that was zoomed into, both included; empty: no zoom. Default: the plot alone zooms. */
  readonly onZoom?: (from: string, to: string) => void
}

const moment = (unix: number): string => new Date(unix * 1000).toISOString().slice(0, 16).replace('T', ' ')
const rowsMax = 500

export function Plot(props: PlotProps) {
  const { title, xs, lines, height = 220, format = formatFigure, formatX = moment } = props
  const box = useRef<HTMLDivElement>(null)
  const plot = useRef<DrawnPlot>(null)
  const theme = useTheme()
  const latest = useRef(props)
  latest.current = props
  const [areLabelled, setLabelled] = useState(true)
  const empty = lines.every(({ values }) => values.every((value) => value === null))
  const markTexts = props.marks?.map(({ x, label }) => `${x} ${label}`).join('\n')
  const labels = lines.map(({ label, steps }) => `${label}${steps ? '/' : ''}`).join('\n')

  // biome-ignore lint/correctness/useExhaustiveDependencies: the effect below passes new data to the existing plot
  useEffect(() => {
    const parent = box.current
    if (!parent) return
    const onZoom = (from: string, to: string) => latest.current.onZoom?.(from, to)
    const onPick = (index: number) => latest.current.onPick?.(index)
    const drawn = drawPlot(parent, { ...props, height, format, onZoom }, onPick)
    plot.current = drawn
    const watch = new ResizeObserver(() => setLabelled(drawn.resize()))
    watch.observe(parent)
    return () => {
      watch.disconnect()
      drawn.destroy()
      plot.current = null
    }
  }, [labels, markTexts, theme, height, empty])

  useEffect(() => {
    plot.current?.setData(xs, lines)
  }, [xs, lines])

  if (empty) return <p className="soft">No data yet.</p>
  return (
    <figure className="plot" style={{ margin: 0 }}>
      <div ref={box} role="img" aria-label={title} />
      {!areLabelled && lines.length > 1 && <Legend lines={lines} />}
      <details>
        <summary>Show as a table</summary>
        <Table
          name={`${title}: table`}
          rows={xs.slice(-rowsMax).map((x, row) => ({ x, at: Math.max(0, xs.length - rowsMax) + row }))}
          columns={[
            ['Time (UTC)', ({ x }) => formatX(x)],
            ...lines.map(({ label, values }): Column<{ readonly at: number }> => {
              const places = placesOfColumn(values)
              return [label, ({ at }) => formatOrDash(values[at], places, format), 'num']
            }),
          ]}
        />
      </details>
    </figure>
  )
}

/** Names the lines where labels do not fit. */
const Legend = ({ lines }: Pick<PlotProps, 'lines'>) => (
  <ul className="legend small">
    {lines.map(({ label }, index) => (
      <li key={label}>
        <span className="swatch" style={{ background: lineColour(index) }} /> {label}
      </li>
    ))}
  </ul>
)

/** Changes whenever the theme changes. */
function useTheme(): number {
  const [version, setVersion] = useState(0)
  useEffect(() => {
    const next = () => setVersion((previous) => previous + 1)
    const system = window.matchMedia('(prefers-color-scheme: dark)')
    system.addEventListener('change', next)
    window.addEventListener('tetrad-theme', next)
    return () => {
      system.removeEventListener('change', next)
      window.removeEventListener('tetrad-theme', next)
    }
  }, [])
  return version
}
