// A line plot over time, with the same figures in a table below for people who cannot see the plot.
import { useEffect, useRef, useState } from 'preact/compat'
import UPlot from 'uplot'
import 'uplot/dist/uPlot.min.css'
import { type Column, Table } from './table.tsx'
import { widenRange } from './widen-range.ts'

export interface Line {
  readonly label: string
  /** One value for each x; null leaves a gap. */
  readonly values: readonly (number | null)[]
  /** Draw steps: a value holds until the next one. */
  readonly steps?: boolean
  /** The colour of the point of a value, such as `var(--bad)`. Default: that of the line. */
  readonly pointColour?: (value: number) => string
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
  readonly format?: (value: number) => string
  readonly formatX?: (value: number) => string
  /** Called with the index in `xs` of the point that was clicked. */
  readonly onPick?: (index: number) => void
}

/** The current value of a colour such as `var(--soft)`: a canvas cannot use CSS variables. */
function resolveColour(colour: string): string {
  const sample = document.body.appendChild(document.createElement('i'))
  sample.style.color = colour
  const { color } = getComputedStyle(sample)
  sample.remove()
  return color
}
const plain = (value: number): string => value.toLocaleString('en', { maximumFractionDigits: 4 })
const moment = (unix: number): string => new Date(unix * 1000).toISOString().slice(0, 16).replace('T', ' ')
const rowsMax = 500

export function Plot(props: PlotProps) {
  const { title, xs, lines, height = 220, format = plain, formatX = moment, onPick } = props
  const box = useRef<HTMLDivElement>(null)
  const plot = useRef<UPlot>(null)
  const theme = useTheme()
  const latestOnPick = useRef(onPick)
  latestOnPick.current = onPick
  const empty = lines.every(({ values }) => values.every((value) => value === null))
  const markTexts = props.marks?.map(({ x, label }) => `${x} ${label}`).join('\n')
  const labels = lines.map(({ label, steps }) => `${label}${steps ? '/' : ''}`).join('\n')

  // biome-ignore lint/correctness/useExhaustiveDependencies: the effect below passes new data to the existing plot
  useEffect(() => {
    const parent = box.current
    if (!parent) return
    const created = new UPlot(
      optionsOf({ ...props, format, formatX }, parent.clientWidth, height),
      dataOf(xs, lines),
      parent,
    )
    plot.current = created
    const pick = () => {
      const { idx } = created.cursor
      if (typeof idx === 'number') latestOnPick.current?.(idx)
    }
    created.over.addEventListener('click', pick)
    const watch = new ResizeObserver(() => created.setSize({ width: parent.clientWidth, height }))
    watch.observe(parent)
    return () => {
      watch.disconnect()
      created.destroy()
      plot.current = null
    }
  }, [labels, markTexts, theme, height, empty])

  useEffect(() => {
    plot.current?.setData(dataOf(xs, lines))
  }, [xs, lines])

  if (empty) return <p className="soft">No data yet.</p>
  return (
    <figure className="plot" style={{ margin: 0 }}>
      <div ref={box} role="img" aria-label={title} />
      <details>
        <summary>Show as a table</summary>
        <Table
          name={`${title}: table`}
          rows={xs.slice(-rowsMax).map((x, row) => ({ x, at: Math.max(0, xs.length - rowsMax) + row }))}
          columns={[
            ['Time (UTC)', ({ x }) => formatX(x)],
            ...lines.map(
              ({ label, values }): Column<{ readonly at: number }> => [
                label,
                ({ at }) => formatOrDash(values[at], format),
                'num',
              ],
            ),
          ]}
        />
      </details>
    </figure>
  )
}

const formatOrDash = (value: number | null | undefined, format: (value: number) => string): string =>
  value === null || value === undefined ? '–' : format(value)

const dataOf = (xs: readonly number[], lines: readonly Line[]): UPlot.AlignedData => [
  [...xs],
  ...lines.map(({ values }) => [...values]),
]

type DrawnPlotProps = PlotProps & Required<Pick<PlotProps, 'format' | 'formatX'>>

function optionsOf(
  { lines, marks = [], fromZero = false, format, formatX }: DrawnPlotProps,
  width: number,
  height: number,
): UPlot.Options {
  const [ink, line] = [resolveColour('var(--soft)'), resolveColour('var(--line)')]
  const axis: UPlot.Axis = { stroke: ink, grid: { stroke: line, width: 1 }, ticks: { stroke: line, width: 1 } }
  return {
    width,
    height,
    scales: {
      x: { range: (plot: UPlot, min: number | null, max: number | null) => widenRange(...rangeOf(plot, min, max)) },
      ...(fromZero && { y: { range: (_plot, _min, max) => [0, max > 0 ? max * 1.1 : 1] } }),
    },
    // All times are in UTC, as in the API.
    tzDate: (unix) => UPlot.tzDate(new Date(unix * 1000), 'Etc/UTC'),
    axes: [
      { ...axis, values: (_plot, ticks, _axis, _space, step) => ticks.map((tick) => formatTick(tick, step)) },
      { ...axis, size: 64, values: (_plot, ticks) => ticks.map(format) },
    ],
    series: [
      { value: (_plot, x) => (x === null ? '–' : formatX(x)) },
      ...lines.map(({ label, steps }, index) => ({
        label,
        stroke: resolveColour(`var(--c${(index % 10) + 1})`),
        width: 1.75,
        points: { show: (plot: UPlot) => plot.data[0].length < 60, filter: isolatedPoints },
        value: (_plot: UPlot, value: number | null) => formatOrDash(value, format),
        ...(steps && UPlot.paths.stepped && { paths: UPlot.paths.stepped({ align: 1 }) }),
      })),
    ],
    hooks: {
      draw: [(plot) => drawPoints(plot, lines, ink), (plot) => drawMarks(plot, marks, ink)],
    },
  }
}

const pointRadius = 4

/** Points in colours of their own, above all lines. */
function drawPoints({ ctx, data, valToPos }: UPlot, lines: readonly Line[], ink: string): void {
  ctx.save()
  ctx.strokeStyle = ink
  ctx.lineWidth = devicePixelRatio
  for (const [at, { pointColour }] of lines.entries()) {
    if (!pointColour) continue
    const resolved = new Map<string, string>()
    for (const [index, value] of (data[at + 1] ?? []).entries()) {
      const x = data[0][index]
      if (value == null || x === undefined) continue
      const colour = pointColour(value)
      ctx.fillStyle = resolved.getOrInsertComputed(colour, resolveColour)
      ctx.beginPath()
      ctx.arc(valToPos(x, 'x', true), valToPos(value, 'y', true), pointRadius * devicePixelRatio, 0, 2 * Math.PI)
      ctx.fill()
      ctx.stroke()
    }
  }
  ctx.restore()
}

function drawMarks({ ctx, bbox, valToPos }: UPlot, marks: readonly Mark[], ink: string): void {
  ctx.save()
  ctx.strokeStyle = ink
  ctx.fillStyle = ink
  ctx.setLineDash([4 * devicePixelRatio, 3 * devicePixelRatio])
  ctx.font = `${11 * devicePixelRatio}px system-ui, sans-serif`
  for (const { x, label } of marks) {
    const at = valToPos(x, 'x', true)
    if (at < bbox.left || at > bbox.left + bbox.width) continue
    ctx.beginPath()
    ctx.moveTo(at, bbox.top)
    ctx.lineTo(at, bbox.top + bbox.height)
    ctx.stroke()
    // In the right half, the text is left of the line, so that it is not cut off.
    const isRight = at > bbox.left + bbox.width / 2
    ctx.textAlign = isRight ? 'right' : 'left'
    ctx.fillText(label, at + (isRight ? -4 : 4) * devicePixelRatio, bbox.top + 11 * devicePixelRatio)
  }
  ctx.restore()
}

/** For a single point, uPlot would show a range of almost three years. */
function rangeOf({ data: [xs] }: UPlot, min: number | null, max: number | null): [number | null, number | null] {
  const [only] = xs
  return xs.length === 1 && only !== undefined ? [only, only] : [min, max]
}

/** When lines are too dense for points, draw only points without neighbours: no line would show them. */
function isolatedPoints(plot: UPlot, series: number, areShown: boolean): number[] | null {
  if (areShown) return null
  const values = plot.data[series] ?? []
  return [...values.keys()].filter((at) => values[at] != null && values[at - 1] == null && values[at + 1] == null)
}

/** A label of the time axis in UTC. The format depends on the distance between ticks. */
function formatTick(unix: number, stepSeconds: number): string {
  const text = new Date(unix * 1000).toISOString()
  if (stepSeconds >= 28 * 86_400) return text.slice(0, 7)
  if (stepSeconds >= 86_400) return text.slice(5, 10)
  const ofDay = text.slice(11, stepSeconds >= 60 ? 16 : 19)
  return ofDay === '00:00' ? text.slice(5, 10) : ofDay
}

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
