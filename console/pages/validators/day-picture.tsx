// A day as a picture: a square for each epoch, row by row, coloured by what went wrong in it.
import { useWidth } from '../../parts/width.ts'
import { type Cell, cellsOf, type Incident } from './incidents.ts'

const gap = 2
/** Few epochs are drawn larger. */
const sizeOf = (cells: number): number => (cells > 60 ? 14 : 28)

interface DayPictureProps {
  readonly incidents: readonly Incident[]
  readonly epochs: { readonly from: number; readonly until: number }
  readonly description: string
}

/** More squares than this are no picture. */
const cellsMax = 2000

export function DayPicture({ incidents, epochs, description }: DayPictureProps) {
  const [box, width] = useWidth<HTMLDivElement>()
  const cells = cellsOf(incidents, { ...epochs, until: Math.min(epochs.until, epochs.from + cellsMax) })
  const size = sizeOf(cells.length)
  const columns = Math.max(1, Math.floor((width + gap) / (size + gap)))
  const rows = Math.ceil(cells.length / columns)
  const used = [...new Set(cells)]
  return (
    <div ref={box} className="day-picture">
      {width > 0 && (
        <svg role="img" aria-label={description} width={width} height={rows * (size + gap)}>
          {cells.map((cell, at) => (
            <rect
              // biome-ignore lint/suspicious/noArrayIndexKey: a cell is its place
              key={at}
              className={toneOf(cell)}
              x={(at % columns) * (size + gap)}
              y={Math.floor(at / columns) * (size + gap)}
              width={size}
              height={size}
              rx={3}
            >
              <title>{`epoch ${epochs.from + at}: ${cellLabels[cell]}`}</title>
            </rect>
          ))}
        </svg>
      )}
      <ul className="legend small">
        {used.map((cell) => (
          <li key={cell}>
            <span className={`swatch ${toneOf(cell)}`} /> {cellLabels[cell]}
          </li>
        ))}
      </ul>
    </div>
  )
}

const toneOf = (cell: Cell): string => `cell-${cell.toLowerCase()}`

const cellLabels: Readonly<Record<Cell, string>> = {
  fine: 'as it should be',
  excused: 'not its fault',
  missed: 'vote missing',
  late: 'vote late',
  wrongTarget: 'wrong target',
  wrongHead: 'wrong head',
  noBlock: 'no block made',
  emptyBlock: 'empty block',
  sync: 'sync signatures missing',
  slashed: 'slashed',
}
