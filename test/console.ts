// A real HTTP server with the console's routes, a test clock, and requests with the headers that a browser sends (origin,
// content type, cookie).

import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { startHistoryRecorder } from '#admin/history.ts'
import { createProgressBoard } from '#admin/progress.ts'
import { consoleRoutes } from '#admin/routes.ts'
import { createLink } from '#admin/sessions.ts'
import { openAuthorizer } from '#http/authorize.ts'
import { createBadKeyThrottle } from '#http/bad-key-throttle.ts'
import type { Finding } from '#http/health.ts'
import { startHttpServer } from '#http/http-server.ts'
import { createApp } from '#http/pipeline.ts'
import { recentCoverage } from '#operations/coverage.ts'
import { openLog } from '#runtime/log.ts'
import { openMetrics } from '#runtime/metrics.ts'
import { endpoints } from '#server/endpoints.ts'
import { openContext } from './context.ts'
import { inject } from './inject.ts'

export const ownOrigin = 'http://console.test'

export interface ConsoleRequestOptions {
  readonly method?: 'GET' | 'HEAD' | 'POST' | 'DELETE' | 'OPTIONS' | 'PUT'
  readonly body?: unknown
  readonly cookie?: string
  readonly headers?: Readonly<Record<string, string>>
}

/** With a small build in a folder of its own, or the build in `builtDir`. */
export async function openConsole(
  settings: object = {},
  { built = true, builtDir }: { readonly built?: boolean; readonly builtDir?: string } = {},
) {
  const { server, ...rest } = settings as { server?: object }
  const opened = await openContext({ log: { requests: 'all' }, ...rest, server: { port: 0, ...server } })
  const lines: string[] = []
  const context = { ...opened, log: openLog('debug', (line) => lines.push(line)) }
  const dir = await mkdtemp(join(tmpdir(), 'tetrad-console-'))
  if (built) await build(dir, 'one')
  const badKeyThrottle = createBadKeyThrottle(context.settings)
  const metrics = openMetrics({ process: false })
  const authorizer = await openAuthorizer(context, (what) => metrics.limited(what), badKeyThrottle)
  const findings: Finding[] = [{ name: 'state store', ok: true, message: 'readable and writable' }]
  const board = createProgressBoard(context.clock)
  const readiness = { stopping: false, findings: async () => findings, reportReady: () => {} }
  const coverage = recentCoverage(context)
  const metricsHistory = startHistoryRecorder({ clock: context.clock, metrics, coverage })
  const { routes: paths, notFoundPage } = consoleRoutes(context, {
    ...{
      version: '9.9.9',
      readiness,
      board,
      coverage,
      metricsHistory,
      authorizer,
      badKeyThrottle,
      dir: builtDir ?? dir,
    },
  })
  const httpServer = await startHttpServer(createApp(context, endpoints, authorizer, metrics), paths, notFoundPage)

  const request = async (url: string, { method = 'GET', body, cookie, headers = {} }: ConsoleRequestOptions = {}) => {
    const isChange = method === 'POST' || method === 'DELETE'
    const reply = await inject(httpServer, {
      url,
      method,
      headers: {
        host: 'console.test',
        ...(isChange && { origin: ownOrigin, 'content-type': 'application/json' }),
        ...(cookie !== undefined && { cookie }),
        ...headers,
      },
      ...(isChange && { payload: typeof body === 'string' ? body : JSON.stringify(body ?? {}) }),
    })
    return {
      status: reply.statusCode,
      headers: reply.headers,
      body: reply.body,
      bytes: reply.rawPayload,
      json: <T = Record<string, unknown>>() => JSON.parse(reply.body) as T,
    }
  }
  /** Signs in and returns the session cookie. */
  const signIn = async (): Promise<string> => {
    const { token } = await createLink(context)
    const { headers } = await request('/console/session', { method: 'POST', body: { token } })
    return String(headers['set-cookie']).split(';')[0] ?? ''
  }
  return {
    ...{
      url: httpServer.url,
      context,
      clock: opened.clock,
      dir,
      lines,
      paths,
      board,
      history: metricsHistory,
      findings,
      request,
      signIn,
      authorizer,
    },
    async [Symbol.asyncDispose]() {
      metricsHistory.stop()
      await httpServer.close()
      await authorizer.close()
      await opened[Symbol.asyncDispose]()
      await rm(dir, { recursive: true, force: true })
    },
  }
}

/** Writes files like those of a console build. */
export async function build(dir: string, version: string): Promise<void> {
  await mkdir(join(dir, 'assets'), { recursive: true })
  await writeFile(join(dir, 'assets', `index-${version}.js`), `export const version = '${version}'\n`.repeat(100))
  await writeFile(join(dir, 'assets', `index-${version}.css`), 'body { margin: 0 }\n')
  await mkdir(join(dir, 'docs/endpoints'), { recursive: true })
  await writeFile(join(dir, 'docs/endpoints/one.html'), `<!doctype html><title>Endpoint ${version}</title>`)
  await writeFile(join(dir, 'docs/endpoints/index.html'), '<!doctype html><title>Endpoints</title>')
  await writeFile(join(dir, 'docs/404.html'), '<!doctype html><title>Page not found</title>')
  await writeFile(join(dir, 'docs/index.html'), `<!doctype html><title>Documentation ${version}</title>`)
  await writeFile(join(dir, 'favicon.svg'), '<svg xmlns="http://www.w3.org/2000/svg"/>')
  await writeFile(join(dir, 'index.html'), `<!doctype html><script src="/assets/index-${version}.js"></script>`)
}
