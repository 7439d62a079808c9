// Divides a CPU profile among stages: those of a request, or those that a benchmark names.
import type { Profiler } from 'node:inspector'

/** A sample belongs to the innermost frame on its stack whose `file function` matches a line; the first line wins. */
export type Stages = readonly (readonly [RegExp, string])[]

const requestStages: Stages = [
  [/server\/http\/(authorize|key-cache|limits|sliding-window|usage-counter|caller-network)/, 'authorize'],
  [/server\/http\/(parse|query|read-request)\.ts|server\/core\/schema-check/, 'validate'],
  [/server\/http\/render|fast-json-stringify|api\/contract\/json/, 'render'],
  [/server\/http\/|find-my-way/, 'route'],
  [/server\/runtime\/metrics|server\/storage\/timed/, 'metrics'],
  [/server\/storage\//, 'storage'],
  [/server\/(explorer|fx|markets|validators)\//, 'handler'],
  [/^node:/, 'node:http'],
]

/**
 * Node's functions that write to a socket. They get their own stage, because the profiler of V8 counts more for them
 * than `perf` does, probably time in which the thread waits for a core
 * (decisions/accept-the-cost-of-checks-on-every-request.md).
 */
const socketWrite = /^write(v|Buffer|Latin1String|Utf8String)$/

/** A longer sample is one of a thread that waited for a core. */
const sampleMaxUs = 1000

/** Microseconds by stage, without idle time. */
export function stageTimes(
  { nodes, samples = [], timeDeltas = [] }: Profiler.Profile,
  stages = requestStages,
): Record<string, number> {
  const parents = new Map(nodes.flatMap(({ id, children = [] }) => children.map((child) => [child, id] as const)))
  const frames = new Map(nodes.map((node) => [node.id, node.callFrame]))
  const known = new Map<number, string>()
  const stageOf = (id: number): string => {
    const found = known.get(id) ?? findStage(id)
    known.set(id, found)
    return found
  }
  const findStage = (id: number): string => {
    const { functionName = '', url = '' } = frames.get(id) ?? {}
    if (functionName.startsWith('(')) return functionName.slice(1, -1)
    if (url === '' && socketWrite.test(functionName)) return 'socket write and waiting'
    const parent = parents.get(id)
    return (
      stages.find(([frame]) => frame.test(`${url} ${functionName}`))?.[1] ??
      (parent === undefined ? 'other' : stageOf(parent))
    )
  }
  const times: Record<string, number> = {}
  for (const [at, id] of samples.entries()) {
    const stage = stageOf(id)
    if (stage !== 'idle') times[stage] = (times[stage] ?? 0) + Math.min(timeDeltas[at] ?? 0, sampleMaxUs)
  }
  return times
}
