// For tests of the console: the real door with the console's paths behind it, a clock that the test moves, and a browser's
// manners (origin, content type, cookie) that a test can leave out.

import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { openLog } from '#io/log.ts'
import { openMetrics } from '#io/metrics.ts'
import { openAdmission } from '#serve/admit.ts'
import { openGuard } from '#serve/guard.ts'
import type { Finding } from '#serve/health.ts'
import { openDoor } from '#serve/http.ts'
import { openHouse } from '#serve/pipeline.ts'
import { consolePaths } from '#server/console/paths.ts'
import { Board } from '#server/console/progress.ts'
import { createLink } from '#server/console/sessions.ts'
import { endpoints } from '#server/endpoints.ts'
import { recentCoverage } from '#server/upkeep/coverage.ts'
import { openContext } from './context.ts'

export const ownOrigin = 'http://console.test'

export interface AskOptions {
  readonly method?: 'GET' | 'HEAD' | 'POST' | 'DELETE' | 'OPTIONS' | 'PUT'
  readonly body?: unknown
  readonly cookie?: string
  readonly headers?: Readonly<Record<string, string>>
}

export async function openConsole(settings: object = {}, { built = true } = {}) {
  const { server, ...rest } = settings as { server?: object }
  const opened = await openContext({ log: { requests: 'all' }, ...rest, server: { port: 0, ...server } })
  const lines: string[] = []
  const context = { ...opened, log: openLog('debug', (line) => lines.push(line)) }
  const dir = await mkdtemp(join(tmpdir(), 'tetrad-console-'))
  if (built) await build(dir, 'one')
  const guard = openGuard(context.settings)
  const metrics = openMetrics({ process: false })
  const admission = await openAdmission(context, (what) => metrics.limited(what), guard)
  const findings: Finding[] = [{ name: 'state store', ok: true, says: 'answers' }]
  const board = new Board(context.clock)
  const readiness = { stopping: false, findings: async () => findings, tell: () => {} }
  const coverage = recentCoverage(context)
  const paths = consolePaths(context, { version: '9.9.9', readiness, metrics, board, coverage, guard, dir })
  const door = await openDoor(openHouse(context, endpoints, admission, metrics), paths)

  const ask = async (url: string, { method = 'GET', body, cookie, headers = {} }: AskOptions = {}) => {
    const changes = method === 'POST' || method === 'DELETE'
    const reply = await door.inject({
      url,
      method,
      headers: {
        host: 'console.test',
        ...(changes && { origin: ownOrigin, 'content-type': 'application/json' }),
        ...(cookie !== undefined && { cookie }),
        ...headers,
      },
      ...(changes && { payload: typeof body === 'string' ? body : JSON.stringify(body ?? {}) }),
    })
    return {
      status: reply.statusCode,
      headers: reply.headers,
      body: reply.body,
      bytes: reply.rawPayload,
      json: <T = Record<string, unknown>>() => JSON.parse(reply.body) as T,
    }
  }
  /** The cookie of a new session. */
  const signIn = async (): Promise<string> => {
    const { token } = await createLink(context)
    const { headers } = await ask('/console/session', { method: 'POST', body: { token } })
    return String(headers['set-cookie']).split(';')[0] ?? ''
  }
  return {
    ...{ url: door.url, context, clock: opened.clock, dir, lines, paths, board, findings, ask, signIn, admission },
    async [Symbol.asyncDispose]() {
      await door.close()
      await admission.close()
      await opened[Symbol.asyncDispose]()
      await rm(dir, { recursive: true, force: true })
    },
  }
}

/** What a build leaves in its folder. */
export async function build(dir: string, word: string): Promise<void> {
  await mkdir(join(dir, 'assets'), { recursive: true })
  await writeFile(join(dir, 'assets', `index-${word}.js`), `export const word = '${word}'\n`.repeat(100))
  await writeFile(join(dir, 'assets', `index-${word}.css`), 'body { margin: 0 }\n')
  await writeFile(join(dir, 'favicon.svg'), '<svg xmlns="http://www.w3.org/2000/svg"/>')
  await writeFile(join(dir, 'index.html'), `<!doctype html><script src="/assets/index-${word}.js"></script>`)
}
