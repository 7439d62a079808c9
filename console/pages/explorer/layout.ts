// Where the addresses of a trail stand on the sheet: in rows that turn at their ends, like a path up a hill, so that
// neighbours in the trail are neighbours in the picture and a hundred of them need no sideways scrolling.

export interface Point {
  readonly x: number
  readonly y: number
}

/** The line between one spot and the next, drawn the way the coin went: from the later spot to the earlier. */
export interface Connector {
  readonly from: Point
  readonly to: Point
  /** Where its words stand: in the middle above and below the line, or beside it. */
  readonly label: Point & { readonly anchor: 'middle' | 'start' | 'end' }
}

export interface Layout {
  readonly columns: number
  readonly width: number
  readonly height: number
  readonly nodeWidth: number
  readonly points: readonly Point[]
  readonly connectors: readonly Connector[]
}

export const nodeHeight = 66
const nodeWidth = 208
const loneWidthMax = 340
const gap = { x: 120, xMax: 200, y: 62 } as const
/** Between a line and the words beside it. */
const labelOffset = 12

export function layoutTrail(count: number, widthMax: number): Layout {
  const fitting = Math.max(1, Math.floor((widthMax + gap.x) / (nodeWidth + gap.x)))
  const columns = Math.max(1, Math.min(count, fitting))
  const wide = columns === 1 ? Math.max(1, Math.min(widthMax, loneWidthMax)) : nodeWidth
  const between = columns === 1 ? 0 : Math.min(gap.xMax, (widthMax - columns * wide) / (columns - 1))
  const columnOf = (index: number): number => {
    const along = index % columns
    return Math.floor(index / columns) % 2 === 0 ? along : columns - 1 - along
  }
  const spots = Array.from({ length: count }, (_, index) => ({
    x: columnOf(index) * (wide + between),
    y: Math.floor(index / columns) * (nodeHeight + gap.y),
  }))
  const rows = Math.ceil(count / columns)
  return {
    columns,
    width: columns * wide + (columns - 1) * between,
    height: Math.max(0, rows * (nodeHeight + gap.y) - gap.y),
    nodeWidth: wide,
    points: spots,
    connectors: spots.slice(1).map((later, index) => connect(spots[index] as Point, later, wide, columns)),
  }
}

function connect(earlier: Point, later: Point, wide: number, columns: number): Connector {
  if (earlier.y === later.y) {
    const forward = later.x > earlier.x
    const y = earlier.y + nodeHeight / 2
    const from = { x: forward ? later.x : later.x + wide, y }
    const to = { x: forward ? earlier.x + wide : earlier.x, y }
    return { from, to, label: { x: (from.x + to.x) / 2, y, anchor: 'middle' } }
  }
  const x = earlier.x + wide / 2
  const [from, to] = [
    { x, y: later.y },
    { x, y: earlier.y + nodeHeight },
  ]
  // Words go inwards, so that they never leave the sheet.
  const inwards = columns > 1 && earlier.x > 0 ? 'end' : 'start'
  const label = {
    x: x + (inwards === 'end' ? -labelOffset : labelOffset),
    y: (from.y + to.y) / 2,
    anchor: inwards,
  } as const
  return { from, to, label }
}
