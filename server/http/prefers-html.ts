// Whether a caller is a browser that opens a page (RFC 9110, 12.5.1). Programs get JSON: they accept it, or anything.
import { weightsIn } from './accept-encoding.ts'

/** Whether an accept header prefers HTML to JSON. Browsers list HTML first, and everything else with a lower weight. */
export function prefersHtml(accept: string | undefined): boolean {
  const weights = weightsIn(accept ?? '')
  const weightOf = (kind: string, type: string): number =>
    weights.get(`${kind}/${type}`) ?? weights.get(`${kind}/*`) ?? weights.get('*/*') ?? 0
  return weightOf('text', 'html') > weightOf('application', 'json')
}
