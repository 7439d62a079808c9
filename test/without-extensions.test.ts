// The core alone: a server without extensions, console and MCP serves the eight endpoints of the specification completely.
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { extensionRoutes, type Route, routes } from '#api/contract/routes.ts'
import { formatResult } from '../conformance/report.ts'
import { runChecks } from '../conformance/run-checks.ts'
import { type DemoServer, openDemoServer } from './demo-server.ts'
import { inject } from './inject.ts'

describe('a server without extensions', () => {
  let demo: DemoServer
  before(async () => {
    const settings = {
      keys: { badKeysMax: 1_000_000 },
      server: { port: 0, anonymousPerSecond: 0 },
      console: { enabled: false },
      mcp: { enabled: false },
    }
    demo = await openDemoServer(settings, undefined, undefined, 'none')
  })
  after(() => demo?.[Symbol.asyncDispose]())

  test('passes the conformance checks of all eight endpoints', async () => {
    const { address, indices, slug } = demo.samples
    const samples = { address, validators: indices.slice(0, 3), slug }
    const lowKey = await demo.keyFor('free')
    const report = await runChecks({ baseUrl: demo.url, key: demo.key, lowKey, samples })
    assert.deepEqual(report.results.filter(({ outcome }) => outcome === 'failed').map(formatResult), [])
    const reasons = Object.keys(extensionRoutes).map((id) => `the server has no ${id}`)
    const skipped = report.results.filter(
      ({ outcome, notes }) => outcome === 'skipped' && !reasons.includes(`${notes}`),
    )
    assert.deepEqual(
      skipped.map(({ id }) => id),
      ['explorer.link.expires', 'http.key.throttle'],
    )
    const called = new Set<string>(report.calls.map(({ endpoint }) => endpoint))
    assert.deepEqual(
      Object.keys(routes).filter((id) => !called.has(id)),
      [],
    )
  })

  test('returns 404 for the path of every extension', async () => {
    const corePaths = new Set<string>(Object.values(routes).map(({ path }) => path))
    const ownRoutes = Object.values<Route>(extensionRoutes).filter(({ path }) => !corePaths.has(path))
    assert.ok(ownRoutes.length > 30)
    for (const { method, path } of ownRoutes) {
      const url = path.replaceAll(/\{\w+\}/g, '1')
      const { statusCode } = await inject(demo.server, {
        method,
        url,
        headers: { authorization: `Bearer ${demo.key}` },
      })
      assert.equal(statusCode, 404, `${method} ${path}`)
    }
  })
})
