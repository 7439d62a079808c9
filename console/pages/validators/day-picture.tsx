// A grid with a square for each epoch of a day, coloured by its worst incident.
import { useWidth } from '../../parts/use-width.ts'
import { cells as cellKinds, cellsOf, type Incident } from './incidents.ts'

const gap = 2
/** Larger squares for few epochs. */
const sizeOf = (cells: number): number => (cells > 60 ? 14 : 28)

interface DayPictureProps {
  readonly incidents: readonly Incident[]
  readonly epochs: { readonly from: number; readonly until: number }
  readonly description: string
}

/** The maximum number of squares. */
const cellsMax = 2000

export function DayPicture({ incidents, epochs, description }: DayPictureProps) {
  const [box, width] = useWidth<HTMLDivElement>()
  const cells = cellsOf(incidents, { ...epochs, until: Math.min(epochs.until, epochs.from + cellsMax) })
  const size = sizeOf(cells.length)
  const columns = Math.max(1, Math.floor((width + gap) / (size + gap)))
  const rows = Math.ceil(cells.length / columns)
  const shownCells = [...new Set(cells)]
  return (
    <div ref={box} className="day-picture">
      {width > 0 && (
        <svg role="img" aria-label={description} width={width} height={rows * (size + gap)}>
          {cells.map((cell, index) => (
            <rect
              // biome-ignore lint/suspicious/noArrayIndexKey: a cell has no other key than its position
              key={index}
              style={{ fill: cellKinds[cell].colour }}
              x={(index % columns) * (size + gap)}
              y={Math.floor(index / columns) * (size + gap)}
              width={size}
              height={size}
              rx={3}
            >
              <title>{`Epoch ${epochs.from + index}: ${cellKinds[cell].name}`}</title>
            </rect>
          ))}
        </svg>
      )}
      <ul className="legend small">
        {shownCells.map((cell) => (
          <li key={cell}>
            <span className="swatch" style={{ background: cellKinds[cell].colour }} /> {cellKinds[cell].name}
          </li>
        ))}
      </ul>
    </div>
  )
}
