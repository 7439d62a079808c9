// What has been read of a stretch, with its holes: the stretch as a bar.
import type { StreamView } from '#api/console.ts'
import { count } from './words.ts'

const width = 1000
/** A hole of one block in ten million must still be seen. */
const seenMin = 3

export function CoverageBar({
  stream,
}: {
  readonly stream: Pick<StreamView, 'name' | 'from' | 'until' | 'read' | 'holes' | 'holesCount'>
}) {
  const [from, until] = [stream.from ?? 0, stream.until ?? 0]
  const size = Math.max(1, until - from)
  const at = (place: number) => ((place - from) / size) * width
  const words = `${stream.name}: from ${count(from)} to ${count(until)}, ${stream.holesCount === 0 ? 'no holes' : `${count(stream.holesCount)} holes`}`
  return (
    <svg className="bar" viewBox={`0 0 ${width} 14`} preserveAspectRatio="none" role="img" aria-label={words}>
      <title>{words}</title>
      {until > from && (stream.read ?? 0) > 0 && <rect className="read" x={0} y={0} width={width} height={14} />}
      {stream.holes.map((hole) => (
        <rect
          key={hole.from}
          className="hole"
          x={Math.min(at(hole.from), width - seenMin)}
          y={0}
          width={Math.max(seenMin, at(hole.until) - at(hole.from))}
          height={14}
        />
      ))}
    </svg>
  )
}
