// What has been read of a range, with its gaps: a bar that ends at the target.
import type { StreamView } from '#shared/console-calls.ts'
import { formatCount } from './format.ts'

const width = 1000
/** A gap of one block in ten million must still be visible. */
const gapWidthMin = 3

type DrawnStream = Pick<StreamView, 'name' | 'from' | 'until' | 'read' | 'gaps' | 'gapsCount' | 'target'>

export function CoverageBar({ stream }: { readonly stream: DrawnStream }) {
  const [from, until] = [stream.from ?? 0, stream.until ?? 0]
  // The whole bar is what there is to read. What is after `until` has not been read yet.
  const end = Math.max(until, stream.target ?? until)
  const size = Math.max(1, end - from)
  const at = (toX: number) => ((toX - from) / size) * width
  const description = `${stream.name}: from ${formatCount(from)} to ${formatCount(until)}${end > until ? ` of ${formatCount(end)}` : ''}, ${stream.gapsCount === 0 ? 'no gaps' : `${formatCount(stream.gapsCount)} gaps`}`
  return (
    <svg className="bar" viewBox={`0 0 ${width} 14`} preserveAspectRatio="none" role="img" aria-label={description}>
      <title>{description}</title>
      {until > from && (stream.read ?? 0) > 0 && <rect className="read" x={0} y={0} width={at(until)} height={14} />}
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
