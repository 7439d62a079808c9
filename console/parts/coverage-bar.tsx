// What has been read of a stretch, with its gaps: the stretch as a bar.
import type { StreamView } from '#api/console.ts'
import { formatCount } from './format.ts'

const width = 1000
/** A gap of one block in ten million must still be visible. */
const gapWidthMin = 3

type DrawnStream = Pick<StreamView, 'name' | 'from' | 'until' | 'read' | 'gaps' | 'gapsCount'>

export function CoverageBar({ stream }: { readonly stream: DrawnStream }) {
  const [from, until] = [stream.from ?? 0, stream.until ?? 0]
  const size = Math.max(1, until - from)
  const at = (toX: number) => ((toX - from) / size) * width
  const description = `${stream.name}: from ${formatCount(from)} to ${formatCount(until)}, ${stream.gapsCount === 0 ? 'no gaps' : `${formatCount(stream.gapsCount)} gaps`}`
  return (
    <svg className="bar" viewBox={`0 0 ${width} 14`} preserveAspectRatio="none" role="img" aria-label={description}>
      <title>{description}</title>
      {until > from && (stream.read ?? 0) > 0 && <rect className="read" x={0} y={0} width={width} height={14} />}
      {stream.gaps.map((gap) => (
        <rect
          key={gap.from}
          className="hole"
          x={Math.min(at(gap.from), width - gapWidthMin)}
          y={0}
          width={Math.max(gapWidthMin, at(gap.until) - at(gap.from))}
          height={14}
        />
      ))}
    </svg>
  )
}
