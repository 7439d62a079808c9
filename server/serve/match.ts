// Which endpoint a request is for. Most paths hold one; group A's `/v2/api` holds several, told apart by module and
// action (decision 0010).
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

/** Group A takes its parameters from a form as well (decision 0011). */
function methodsOf(answer: Answer): readonly string[] {
  if (answer.endpoint.method === 'POST') return ['POST']
  return answer.endpoint.auth === 'apikey' ? ['GET', 'HEAD', 'POST'] : ['GET', 'HEAD']
}

export function choose(place: Place, query: RawQuery): Answer {
  const [first] = place.answers
  if (!first) throw new Error(`no answer at ${place.path}`)
  if (!first.endpoint.select) return first
  const module = word(query.module)
  const ofModule = place.answers.filter((answer) => answer.endpoint.select?.module === module)
  if (ofModule.length === 0) throw new Fault('explorer.module')
  const action = word(query.action)
  const chosen = ofModule.find((answer) => answer.endpoint.select?.action === action)
  if (!chosen) throw new Fault('explorer.action')
  return chosen
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
