// Which endpoint a request is for. Most paths have one. Some have several, told apart by the query parameters `module` and
// `action` (decision 0010).
import type { FaultCode } from '#api/faults.ts'
import { Fault } from '#core/fault.ts'
import type { Answer, RawQuery, Shape } from './answer.ts'

/** All answers that live at one path. */
export interface Place {
  readonly path: string
  readonly shape: Shape
  readonly answers: readonly Answer[]
  /** For the `allow` header. */
  readonly methods: readonly string[]
}

export function placesOf(answers: readonly Answer[]): readonly Place[] {
  const byPath = new Map<string, Answer[]>()
  for (const answer of answers) {
    const there = byPath.get(answer.endpoint.path)
    if (there) there.push(answer)
    else byPath.set(answer.endpoint.path, [answer])
  }
  return [...byPath].map(([path, there]) => {
    const [first] = there
    if (!first) throw new Error(`no answer at ${path}`)
    return { path, shape: first.shape, answers: there, methods: methodsOf(first) }
  })
}

/** Endpoints with the key in the query take their parameters from a form as well (decision 0011). */
function methodsOf(answer: Answer): readonly string[] {
  if (answer.endpoint.method === 'POST') return ['POST']
  return answer.endpoint.auth === 'apikey' ? ['GET', 'HEAD', 'POST'] : ['GET', 'HEAD']
}

export function choose(place: Place, query: RawQuery): Answer {
  const [first] = place.answers
  if (!first) throw new Error(`no answer at ${place.path}`)
  if (!first.endpoint.select) return first
  let left = place.answers
  for (const name of ['module', 'action'] as const) {
    const value = word(query[name])
    left = left.filter(({ endpoint }) => endpoint.select?.[name] === value)
    // A group that selects by parameters has a fault for each of them.
    if (left.length === 0) throw new Fault(`${first.endpoint.group}.${name}` as FaultCode)
  }
  return left[0] as Answer
}

const word = (value: RawQuery[string]): string => (typeof value === 'string' ? value.toLowerCase() : '')

/** The place a path belongs to by its fixed beginning, so that even a malformed path fails in its group's shape. */
export function nearest(places: readonly Place[], path: string): Place | undefined {
  let best: Place | undefined
  let length = 1
  for (const place of places) {
    const [fixed = '', parameter] = place.path.split('{')
    const inside = parameter === undefined ? path === fixed || path.startsWith(`${fixed}/`) : path.startsWith(fixed)
    if (inside && fixed.length > length) [best, length] = [place, fixed.length]
  }
  return best
}
