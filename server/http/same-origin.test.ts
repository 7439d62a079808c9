// Which paths pages of other origins may read (behaviour/http.md#methods-paths-and-cors).
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { openEmptyServer } from '#test/empty-server.ts'
import { inject } from '#test/inject.ts'

test('pages of other origins read endpoints and the OpenAPI document, but not the state of the server', async () => {
  await using server = await openEmptyServer({ aliases: { responseFields: { streams: 'flows', checks: 'tests' } } })
  const origin = 'http://elsewhere.example'
  for (const [path, isOpen] of [
    ['/markets/slug/a', true],
    ['/openapi.json', true],
    ['/healthz', true],
    ['/metrics', false],
    ['/coverage', false],
    ['/readyz', false],
  ] as const) {
    const read = await inject(server, { url: path, headers: { origin } })
    assert.equal(read.headers['access-control-allow-origin'], isOpen ? '*' : undefined, path)
    const preflight = await inject(server, { method: 'OPTIONS', url: path, headers: { origin } })
    assert.equal(preflight.statusCode, isOpen ? 204 : 405, path)
  }
  // The console reads them.
  assert.ok((await inject(server, '/coverage')).json().streams)
  assert.ok((await inject(server, '/readyz')).json().checks)
})
