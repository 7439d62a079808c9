// Positions of the addresses of a trail in its diagram. Rows alternate their direction, so that neighbours in the trail
// are neighbours in the diagram, and a hundred addresses need no horizontal scrolling.

export interface Point {
  readonly x: number
  readonly y: number
}

/** The arrow between two neighbours, from the funder (later point) to the funded address (earlier point). */
export interface Connector {
  readonly from: Point
  readonly to: Point
  /** Position of its text: above and below the middle of the line, or next to it. */
  readonly label: Point & { readonly anchor: 'middle' | 'start' | 'end' }
}

export const nodeHeight = 66
const nodeWidth = { min: 208, max: 270 } as const
const singleColumnWidthMax = 340
const gap = { x: 108, xMax: 200, y: 62 } as const
/** Distance between a line and the text next to it. */
const labelOffset = 12

export function layoutTrail(count: number, widthMax: number) {
  const fitting = Math.max(1, Math.floor((widthMax + gap.x) / (nodeWidth.min + gap.x)))
  const columns = Math.max(1, Math.min(count, fitting))
  const widest = columns === 1 ? singleColumnWidthMax : nodeWidth.max
  const width = Math.max(1, Math.min(widest, (widthMax - (columns - 1) * gap.x) / columns))
  const between = columns === 1 ? 0 : Math.min(gap.xMax, (widthMax - columns * width) / (columns - 1))
  const columnOf = (index: number): number => {
    const along = index % columns
    return Math.floor(index / columns) % 2 === 0 ? along : columns - 1 - along
  }
  const points: readonly Point[] = Array.from({ length: count }, (_, index) => ({
    x: columnOf(index) * (width + between),
    y: Math.floor(index / columns) * (nodeHeight + gap.y),
  }))
  const rows = Math.ceil(count / columns)
  return {
    columns,
    width: columns * width + (columns - 1) * between,
    height: Math.max(0, rows * (nodeHeight + gap.y) - gap.y),
    nodeWidth: width,
    points,
    connectors: points.slice(1).map((later, index) => connect(points[index] as Point, later, width, columns)),
  }
}

function connect(earlier: Point, later: Point, nodeWidth: number, columns: number): Connector {
  if (earlier.y === later.y) {
    const forward = later.x > earlier.x
    const y = earlier.y + nodeHeight / 2
    const from = { x: forward ? later.x : later.x + nodeWidth, y }
    const to = { x: forward ? earlier.x + nodeWidth : earlier.x, y }
    return { from, to, label: { x: (from.x + to.x) / 2, y, anchor: 'middle' } }
  }
  const x = earlier.x + nodeWidth / 2
  const [from, to] = [
    { x, y: later.y },
    { x, y: earlier.y + nodeHeight },
  ]
  // Text goes inwards, so that it stays inside the diagram.
  const anchor = columns > 1 && earlier.x > 0 ? 'end' : 'start'
  const label = {
    x: x + (anchor === 'end' ? -labelOffset : labelOffset),
    y: (from.y + to.y) / 2,
    anchor,
  } as const
  return { from, to, label }
}
