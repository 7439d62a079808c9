// An etag names the bytes that were sent, so it depends on the aliases that changed them
// (behaviour/http.md#aliases).
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { openDemoServer } from '#test/demo-server.ts'
import { inject } from '#test/inject.ts'

const tables = [
  {},
  { responseFields: { labelname: 'label', question: 'title' } },
  { hiddenFields: ['labelname', 'question'] },
]

test('a response with other aliases has another etag, and only its own etag and no date makes it unchanged', async () => {
  /** Headers of all responses so far, by path. */
  const earlier = new Map<string, { etag: string; modified: string | undefined }[]>()
  for (const aliases of tables) {
    await using demo = await openDemoServer(() => ({ aliases }))
    const list = `/v2/api?module=nametag&action=getlabelmasterlist&chainid=1&apikey=${demo.key}`
    const link = (await inject(demo.server, `${list}&format=json`)).json() as { result: string }
    const download = new URL(link.result)
    for (const [name, url] of Object.entries({
      market: `/markets/slug/${demo.samples.slug}`,
      markets: '/markets',
      list,
      download: `${download.pathname}${download.search}`,
      openapi: '/openapi.json',
    })) {
      const { etag, 'last-modified': modified } = (await inject(demo.server, url)).headers as Record<string, string>
      assert.ok(etag, name)
      const statusWith = async (headers: Record<string, string>) =>
        (await inject(demo.server, { url, headers })).statusCode
      assert.equal(await statusWith({ 'if-none-match': etag }), 304, name)
      assert.equal(await statusWith({ 'if-none-match': `"x", W/${etag}` }), 304, name)
      const others = earlier.getOrInsertComputed(name, () => [])
      for (const other of others) {
        if (other.etag === etag) assert.fail(`${name}: the etag does not depend on ${JSON.stringify(aliases)}`)
        assert.equal(await statusWith({ 'if-none-match': other.etag }), 200, name)
        if (other.modified) assert.equal(await statusWith({ 'if-modified-since': other.modified }), 200, name)
      }
      others.push({ etag, modified })
    }
  }
})
