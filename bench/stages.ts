// Divides a CPU profile of the server among the stages of a request.
import type { Profiler } from 'node:inspector'

/** The functions that begin a stage. A sample belongs to the innermost of them on its stack. */
const stageOf: Readonly<Record<string, string>> = {
  parserOnHeadersComplete: 'node:http',
  parserOnIncoming: 'node:http',
  onread: 'node:http',
  listen: 'route',
  authorize: 'authorize',
  parse: 'validate',
  handle: 'handler',
  render: 'render',
  sendResponse: 'write',
  writeHead: 'write',
}

/** Microseconds by stage; `idle` is left out. */
export function stageTimes({ nodes, samples = [], timeDeltas = [] }: Profiler.Profile): Record<string, number> {
  const parents = new Map(nodes.flatMap(({ id, children = [] }) => children.map((child) => [child, id] as const)))
  const frames = new Map(nodes.map((node) => [node.id, node.callFrame]))
  const stages = new Map<number, string>()
  const find = (id: number): string => {
    const known = stages.get(id)
    if (known) return known
    const name = frames.get(id)?.functionName ?? ''
    const parent = parents.get(id)
    const stage =
      name === '(idle)' || name === '(garbage collector)'
        ? name
        : (stageOf[name] ?? (parent === undefined ? 'other' : find(parent)))
    stages.set(id, stage)
    return stage
  }
  const times: Record<string, number> = {}
  for (const [at, id] of samples.entries()) {
    const stage = find(id)
    if (stage !== '(idle)') times[stage] = (times[stage] ?? 0) + (timeDeltas[at] ?? 0)
  }
  return times
}
