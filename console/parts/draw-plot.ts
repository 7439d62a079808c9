// Draws a plot with uPlot: axes, lines, and above them marks, labels at the ends of the lines, and a tooltip. Points appear
// on hover only. The only file that imports uPlot.
import UPlot from 'uplot'
import 'uplot/dist/uPlot.min.css'
import type { Line, Mark, PlotProps } from './plot.tsx'
import { type FormatFigure, formatLocalTime, formatTick, placesOfColumn, placesOfStep } from './plot-format.ts'
import { labelSpace, spreadLabels } from './plot-layout.ts'
import { capRange, widenRange } from './widen-range.ts'

export interface DrawnPlotProps extends PlotProps {
  readonly height: number
  readonly format: FormatFigure
}

export const lineColour = (index: number): string => `var(--c${(index % 10) + 1})`

/** The current value of a colour such as `var(--soft)`: a canvas cannot use CSS variables. */
function resolveColour(colour: string): string {
  const sample = document.body.appendChild(document.createElement('i'))
  sample.style.color = colour
  const { color } = getComputedStyle(sample)
  sample.remove()
  return color
}

const dataOf = (xs: readonly number[], lines: readonly Line[]): UPlot.AlignedData => [
  [...xs],
  ...lines.map(({ values }) => [...values]),
]

export const formatOrDash = (value: number | null | undefined, places: number, format: FormatFigure): string =>
  value === null || value === undefined ? '–' : format(value, places)

/** What `Plot` needs of a drawn plot. */
export interface DrawnPlot {
  setData(xs: readonly number[], lines: readonly Line[]): void
  /** Whether labels name the lines. If not, a legend has to. */
  resize(): boolean
  destroy(): void
}

/** `onPick` is called with the index of the x that was clicked. */
export function drawPlot(parent: HTMLElement, props: DrawnPlotProps, onPick: (index: number) => void): DrawnPlot {
  const widths = measureTexts(props.lines.map(({ label }) => label))
  const spaceIn = (width: number) => labelSpace(widths, width, props.height)
  const placesOf = (lines: readonly Line[]) => lines.map(({ values }) => placesOfColumn(values))
  let places = placesOf(props.lines)
  const formatValue = (value: number | null | undefined, index: number) =>
    formatOrDash(value, places[index] ?? 0, props.format)
  const plot = new UPlot(
    optionsOf(props, parent.clientWidth, spaceIn, formatValue),
    dataOf(props.xs, props.lines),
    parent,
  )
  plot.over.addEventListener('click', () => {
    const { idx } = plot.cursor
    if (typeof idx === 'number') onPick(idx)
  })
  plot.over.addEventListener('dblclick', () => props.onZoom?.('', ''))
  return {
    setData: (xs, lines) => {
      places = placesOf(lines)
      plot.setData(dataOf(xs, lines))
    },
    resize: () => {
      const width = parent.clientWidth
      if (width !== plot.width) plot.setSize({ width, height: props.height })
      return spaceIn(width) > 0
    },
    destroy: () => plot.destroy(),
  }
}

/** As wide as CSS draws the labels. */
function measureTexts(texts: readonly string[]): readonly number[] {
  const canvas = document.createElement('canvas').getContext('2d')
  if (!canvas) return texts.map(() => Number.POSITIVE_INFINITY)
  canvas.font = `600 12px ${getComputedStyle(document.body).fontFamily}`
  return texts.map((text) => canvas.measureText(text).width)
}

/** The text of a value of a line. */
type FormatValue = (value: number | null | undefined, line: number) => string

function optionsOf(
  props: DrawnPlotProps,
  width: number,
  spaceIn: (width: number) => number,
  formatValue: FormatValue,
): UPlot.Options {
  const { lines, marks = [], fromZero = false, yMax, ySteps, format, height } = props
  const [ink, line] = [resolveColour('var(--soft)'), resolveColour('var(--line)')]
  const axis: UPlot.Axis = { stroke: ink, grid: { stroke: line, width: 1 }, ticks: { show: false } }
  // Half of the last label of the axis may be right of the plot.
  const rightSpace = (plot: UPlot) => Math.max(20, spaceIn(plot.width))
  return {
    width,
    height,
    padding: [null, rightSpace, null, null],
    legend: { show: false },
    cursor: { y: false },
    scales: {
      x: { range: (plot: UPlot, min: number | null, max: number | null) => widenRange(...rangeOf(plot, min, max)) },
      ...(yMax !== undefined && {
        y: { range: (_plot, min, max) => capRange(UPlot.rangeNum(min, max, 0.1, true), yMax) },
      }),
      ...(fromZero && { y: { range: (_plot, _min, max) => [0, max > 0 ? max * 1.1 : 1] } }),
    },
    // All times of the axis are in UTC, as in the API.
    tzDate: (unix) => UPlot.tzDate(new Date(unix * 1000), 'Etc/UTC'),
    axes: [
      // As wide as a label and a gap.
      {
        ...axis,
        size: 30,
        space: 64,
        values: (_plot, ticks, _axis, _space, step) => ticks.map((tick) => formatTick(tick, step)),
      },
      {
        ...axis,
        size: 64,
        ...(ySteps && { incrs: [...ySteps] }),
        values: (_plot, ticks, _axis, _space, step) => ticks.map((tick) => format(tick, placesOfStep(step))),
      },
    ],
    series: [
      {},
      ...lines.map(({ label, steps }, index) => ({
        label,
        stroke: resolveColour(lineColour(index)),
        width: 1.75,
        points: { show: () => false, filter: isolatedPoints },
        ...(steps && UPlot.paths.stepped && { paths: UPlot.paths.stepped({ align: 1 }) }),
      })),
    ],
    hooks: {
      init: [addTimeZone],
      draw: [
        (plot) => drawPoints(plot, lines, ink),
        (plot) => drawMarks(plot, marks, ink),
        (plot) => placeLabels(plot, lines, spaceIn(plot.width) > 0),
      ],
      setSelect: [
        (plot) => {
          const { left, width } = plot.select
          const dateAt = (x: number) => new Date(plot.posToVal(x, 'x') * 1000).toISOString().slice(0, 10)
          if (width > 0) props.onZoom?.(dateAt(left), dateAt(left + width))
        },
      ],
      setCursor: [(plot) => showTooltip(plot, props, formatValue)],
    },
  }
}

/** An element above the plot. */
function addText(plot: UPlot, className: string, text = ''): HTMLElement {
  const element = plot.over.appendChild(document.createElement('div'))
  element.className = className
  element.textContent = text
  return element
}

const addTimeZone = (plot: UPlot): void => void addText(plot, 'plot-zone', 'UTC')

/** Names each line at its last visible value. */
function placeLabels(plot: UPlot, lines: readonly Line[], areShown: boolean): void {
  for (const label of plot.over.querySelectorAll('.plot-label')) label.remove()
  if (!areShown) return
  const until = plot.scales.x?.max ?? Number.POSITIVE_INFINITY
  const ends = lines.flatMap(({ label }, index) => {
    const values = Array.from(plot.data[index + 1] ?? [])
    const last = values.findLast((value, at) => value != null && (plot.data[0][at] ?? 0) <= until)
    return last == null ? [] : [{ label, index, middle: plot.valToPos(last, 'y') }]
  })
  const middles = spreadLabels(
    ends.map(({ middle }) => middle),
    plot.over.clientHeight,
  )
  for (const [at, { label, index }] of ends.entries()) {
    const element = addText(plot, 'plot-label', label)
    element.style.top = `${middles[at]}px`
    element.style.color = lineColour(index)
  }
}

/** The time in the reader's time zone, and the values at the cursor. */
function showTooltip(plot: UPlot, { formatX, lines }: DrawnPlotProps, formatValue: FormatValue): void {
  const { idx, left = -1 } = plot.cursor
  const tooltip = plot.over.querySelector<HTMLElement>('.plot-tooltip') ?? addText(plot, 'plot-tooltip')
  const [xs] = plot.data
  const x = typeof idx === 'number' ? xs[idx] : undefined
  tooltip.hidden = x === undefined || left < 0
  if (x === undefined || left < 0) return
  const hasSeconds = (xs.at(-1) ?? 0) - (xs[0] ?? 0) <= secondsShownBelow
  const time = document.createElement('strong')
  time.textContent = formatX ? formatX(x) : formatLocalTime(x, hasSeconds)
  const rows = lines.map(({ label }, index) => {
    const row = document.createElement('div')
    const [swatch, name, value] = ['i', 'span', 'b'].map((tag) => row.appendChild(document.createElement(tag)))
    if (swatch) swatch.style.background = lineColour(index)
    if (name) name.textContent = label
    if (value) value.textContent = formatValue(plot.data[index + 1]?.[idx as number], index)
    return row
  })
  tooltip.replaceChildren(time, ...rows)
  const isRight = left > plot.over.clientWidth / 2
  tooltip.style.left = isRight ? 'auto' : `${left + 12}px`
  tooltip.style.right = isRight ? `${plot.over.clientWidth - left + 12}px` : 'auto'
}

/** Points in a range up to two hours may be seconds apart. */
const secondsShownBelow = 7200
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
      if (colour === undefined) continue
      const fill = resolved.get(colour) ?? resolveColour(colour)
      resolved.set(colour, fill)
      ctx.fillStyle = fill
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

/** Only points without neighbours: no line would show them. */
function isolatedPoints(plot: UPlot, series: number, areShown: boolean): number[] | null {
  if (areShown) return null
  const values = plot.data[series] ?? []
  return [...values.keys()].filter((at) => values[at] != null && values[at - 1] == null && values[at + 1] == null)
}
