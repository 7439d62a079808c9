// The funding trail as a diagram. Arrows point the way the coins went, so the trail goes back in time. Every address links
// to its page. The SVG has the role "group", because the role "img" may not contain links.
import type { Trail, TrailHop } from '#api/contract/wire/trail.ts'
import { coins } from '../../parts/chains.ts'
import { formatTime, shortenHex } from '../../parts/format.ts'
import { useWidth } from '../../parts/use-width.ts'
import { hrefOf } from '../../route.ts'
import { type Connector, layoutTrail, nodeHeight, type Point } from './layout.ts'
import { captionOf, stepsOf, type TrailStep, truncate } from './steps.ts'

/** Space for the outline of nodes at the edge of the diagram. */
const margin = 2
const arrow = 7
/** For the widest common system font. */
const charWidth = 7.9
const inset = 12

export function TrailDiagram({ trail }: { readonly trail: Trail }) {
  const [box, width] = useWidth<HTMLDivElement>()
  const steps = stepsOf(trail)
  const layout = layoutTrail(steps.length, Math.max(0, width - 2 * margin))
  const view = [-margin, -margin, layout.width + 2 * margin, layout.height + 2 * margin] as const
  return (
    <div ref={box} className="trail">
      {width > 0 && (
        // biome-ignore lint/a11y/useSemanticElements: a fieldset cannot contain SVG shapes
        <svg role="group" aria-label={altOf(trail)} width={view[2]} height={view[3]} viewBox={view.join(' ')}>
          {steps.map((step, index) => (
            <g key={step.hop}>
              {step.paid && (
                <Edge connector={layout.connectors[index - 1] as Connector} paid={step.paid} chain={trail.chainid} />
              )}
              <DiagramNode
                step={step}
                point={layout.points[index] as Point}
                width={layout.nodeWidth}
                chain={trail.chainid}
              />
            </g>
          ))}
        </svg>
      )}
    </div>
  )
}

const altOf = ({ address, hops, end }: Trail): string =>
  `Funding trail of ${address}, ${hops.length} hops back to ${end.address}`

interface NodeProps {
  readonly step: TrailStep
  readonly point: Point
  readonly width: number
  readonly chain: string
}

function DiagramNode({ step, point, width, chain }: NodeProps) {
  const { address, label, hop, end } = step
  const caption = captionOf(step)
  const isOpen = end !== undefined && !['label', 'genesis', 'none'].includes(end)
  const kind = hop === 0 ? 'start' : label ? 'labelled' : isOpen ? 'open' : ''
  return (
    <a className={`node ${kind}`} href={hrefOf('explorer', [chain, address])}>
      <g transform={`translate(${point.x} ${point.y})`}>
        <rect width={width} height={nodeHeight} rx={8}>
          <title>{address}</title>
        </rect>
        <text className="caption" x={inset} y={19}>
          {caption}
        </text>
        {label ? (
          <>
            <text className="name" x={inset} y={37}>
              {truncate(label.name, Math.floor((width - 2 * inset) / charWidth))}
            </text>
            <text className="address" x={inset} y={54}>
              {shortenHex(address)}
            </text>
          </>
        ) : (
          <text className="address alone" x={inset} y={43}>
            {shortenHex(address)}
          </text>
        )}
      </g>
    </a>
  )
}

interface EdgeProps extends Pick<NodeProps, 'chain'> {
  readonly connector: Connector
  readonly paid: TrailHop
}

function Edge({ connector, paid, chain }: EdgeProps) {
  const { from, to, label } = connector
  const above = label.anchor === 'middle' ? -8 : -4
  const below = label.anchor === 'middle' ? 18 : 13
  return (
    <g className="edge">
      <line x1={from.x} y1={from.y} x2={to.x} y2={to.y} />
      <path d={headAt(from, to)} />
      <text className="value" x={label.x} y={label.y + above} textAnchor={label.anchor}>
        {coins(chain, paid.value)}
      </text>
      <text className="when" x={label.x} y={label.y + below} textAnchor={label.anchor}>
        {formatTime(Number(paid.timeStamp)).slice(0, 16)}
      </text>
    </g>
  )
}

/** The arrowhead: a triangle with its tip at `to`. */
function headAt(from: Point, to: Point): string {
  const [dx, dy] = [Math.sign(from.x - to.x), Math.sign(from.y - to.y)]
  const [backX, backY] = [to.x + dx * arrow, to.y + dy * arrow]
  const half = arrow * 0.6
  return `M${to.x} ${to.y}L${backX + dy * half} ${backY + dx * half}L${backX - dy * half} ${backY - dx * half}Z`
}
