// What machines that watch the server ask: alive, ready, metrics. Ready means that answers would be right: the stores
// answer, the data is fresh, nobody has asked us to stop.
import { failureFields } from '#io/log.ts'
import type { Desk } from './answer.ts'
import type { Departure } from './render.ts'
import type { Extra } from './ways.ts'

export interface Finding {
  readonly name: string
  readonly ok: boolean
  readonly says: string
}

export interface Readiness {
  readonly findings: () => Promise<readonly Finding[]>
  stopping: boolean
  /** Told each time somebody asks. */
  readonly tell: (ready: boolean) => void
}

export function storeFindings({
  state,
  facts,
  log,
}: Pick<Desk, 'state' | 'facts' | 'log'>): Promise<readonly Finding[]> {
  const ask = async (name: string, question: Promise<unknown>): Promise<Finding> => {
    try {
      await question
      return { name, ok: true, says: 'answers' }
    } catch (error) {
      log.error({ store: name, ...failureFields(error) }, 'a store does not answer')
      return { name, ok: false, says: 'does not answer; see the log' }
    }
  }
  return Promise.all([
    ask('state store', state.get('select 1 as one')),
    ask('facts store', facts.query('select 1 as one')),
  ])
}

export function healthPaths(
  readiness: Readiness,
  metrics: () => Promise<{ type: string; text: string }>,
): readonly Extra[] {
  return [
    { path: '/healthz', reply: async () => json(200, { status: 'alive' }) },
    {
      path: '/readyz',
      reply: async () => {
        const findings = await readiness.findings()
        const stopping = { name: 'server', ok: !readiness.stopping, says: readiness.stopping ? 'stopping' : 'running' }
        const checks = [stopping, ...findings]
        const ready = checks.every((one) => one.ok)
        readiness.tell(ready)
        return json(ready ? 200 : 503, { status: ready ? 'ready' : 'not ready', checks })
      },
    },
    {
      path: '/metrics',
      reply: async () => {
        const { type, text } = await metrics()
        return { status: 200, headers: { 'content-type': type }, body: text }
      },
    },
  ]
}

/** A document that does not change while the server runs; written at its first reading. */
export function documentPath(path: string, make: () => object): Extra {
  let ready: Departure | undefined
  return {
    path,
    reply: async () => {
      ready ??= json(200, make())
      return ready
    },
  }
}

const json = (status: number, body: unknown): Departure => ({
  status,
  headers: { 'content-type': 'application/json; charset=utf-8' },
  body: JSON.stringify(body),
})
