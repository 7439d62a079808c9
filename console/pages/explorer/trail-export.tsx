// Downloads of a funding trail: the diagram as SVG, the response as JSON, the hops as CSV.
import type { Trail } from '#api/contract/wire/trail.ts'
import { download } from '../../parts/download.ts'
import { trailCsv } from './trail-csv.ts'

export function TrailExport({ trail }: { readonly trail: Trail }) {
  const save = (ending: string, type: string, text: string | undefined) => {
    if (text !== undefined) download(`trail-${trail.chainid}-${trail.address}.${ending}`, type, text)
  }
  return (
    <div className="downloads">
      <span className="soft small">Download</span>
      <button type="button" onClick={() => save('svg', 'image/svg+xml', drawnSvg())}>
        SVG
      </button>
      <button type="button" onClick={() => save('json', 'application/json', `${JSON.stringify(trail, null, 2)}\n`)}>
        JSON
      </button>
      <button type="button" onClick={() => save('csv', 'text/csv', trailCsv(trail))}>
        CSV
      </button>
    </div>
  )
}

/** Style properties that the diagram gets from the style sheet. */
const styles = ['fill', 'stroke', 'stroke-width', 'stroke-dasharray', 'font-family', 'font-size', 'font-weight']

/** The diagram as drawn, with its styles and without links of this console. */
function drawnSvg(): string | undefined {
  const drawn = document.querySelector('.trail svg')
  if (!drawn) return undefined
  const copy = drawn.cloneNode(true) as SVGElement
  const originals = drawn.querySelectorAll('*')
  copy.querySelectorAll('*').forEach((element, at) => {
    const computed = getComputedStyle(originals[at] as Element)
    for (const name of styles) element.setAttribute(name, computed.getPropertyValue(name))
    element.removeAttribute('href')
    element.removeAttribute('class')
  })
  return new XMLSerializer().serializeToString(copy)
}
