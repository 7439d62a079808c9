import assert from 'node:assert/strict'
import { mkdir, rm, writeFile } from 'node:fs/promises'
import { request } from 'node:http'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { brotliDecompressSync, gunzipSync } from 'node:zlib'
import { allRoutes } from '#api/contract/routes.ts'
import { consolePages } from '#shared/console-pages.ts'
import { build, openConsole } from '#test/console.ts'
import { buildConsole, consoleDir } from '#test/console-build.ts'
import { crawlSite } from '#test/crawl-site.ts'

/** Sends the path unchanged; `fetch` would normalize it. */
const statusOf = (url: string, path: string) =>
  new Promise<number | undefined>((resolve, reject) => {
    request(url, { path }, (reply) => resolve(reply.resume().statusCode))
      .on('error', reject)
      .end()
  })

describe('the page', () => {
  test('200: without a session, with a policy that blocks external content', async () => {
    await using site = await openConsole()
    for (const url of ['/', '/?utm=1']) {
      const reply = await site.request(url)
      assert.equal(reply.status, 200)
      assert.match(reply.body, /index-one\.js/)
      assert.equal(reply.headers['content-type'], 'text/html; charset=utf-8')
      assert.equal(reply.headers['cache-control'], 'no-cache')
      assert.equal(
        reply.headers['content-security-policy'],
        "default-src 'self'; img-src 'self' data:; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
      )
      assert.equal(reply.headers['x-content-type-options'], 'nosniff')
      assert.equal(reply.headers['access-control-allow-origin'], undefined)
    }
  })

  test('200: under any host name; the policy allows requests to the host names of groups', async () => {
    await using site = await openConsole({
      groups: { markets: { host: 'markets.example' }, fx: { host: 'fx.example', enabled: false } },
    })
    const reply = await site.request('/', { headers: { host: 'anything.example' } })
    assert.equal(reply.status, 200)
    assert.match(String(reply.headers['content-security-policy']), /connect-src 'self' markets\.example:\*;/)
  })

  test('304: an unchanged page is not sent again', async () => {
    await using site = await openConsole()
    const { etag } = (await site.request('/')).headers
    const again = await site.request('/', { headers: { 'if-none-match': String(etag) } })
    assert.deepEqual([again.status, again.body], [304, ''])
  })

  test('HEAD responds like GET without the body', async () => {
    await using site = await openConsole()
    const head = await fetch(site.url, { method: 'HEAD' })
    assert.deepEqual([head.status, await head.text()], [200, ''])
    assert.equal(head.headers.get('content-length'), String((await site.request('/')).body.length))
  })

  test('503: a console that is not built explains how to build it, and works once it is built', async () => {
    await using site = await openConsole({}, { built: false })
    const reply = await site.request('/')
    assert.equal(reply.status, 503)
    assert.match(reply.body, /npm run console/)
    assert.equal((await site.request('/assets/index-one.js')).status, 404)
    await build(site.dir, 'one')
    assert.equal((await site.request('/')).status, 200)
    assert.equal((await site.request('/assets/index-one.js')).status, 200)
  })

  test('200: a new build is detected, and the assets of the previous one stay available', async () => {
    await using site = await openConsole()
    assert.match((await site.request('/')).body, /index-one\.js/)
    await rm(site.dir, { recursive: true })
    await build(site.dir, 'another')
    assert.match((await site.request('/')).body, /index-another\.js/)
    for (const word of ['one', 'another'])
      assert.equal((await site.request(`/assets/index-${word}.js`)).status, 200, word)
    await rm(site.dir, { recursive: true })
    await build(site.dir, 'third')
    await site.request('/')
    assert.equal((await site.request('/assets/index-one.js')).status, 404)
  })

  test('200: at the address of every page; for programs, other paths and endpoints are as without the console', async () => {
    await using site = await openConsole()
    await using disabled = await openConsole({ console: { enabled: false } })
    const { body } = await site.request('/')
    for (const path of Object.values(consolePages).flat()) {
      const filled = path.replaceAll(/\{\w+\}/g, '0x1%2F2')
      const reply = await site.request(`${filled}?network=mainnet&of=1&of=2`)
      assert.deepEqual([reply.status, reply.body], [200, body], path)
      assert.match(String(reply.headers['content-security-policy']), /^default-src 'self';/)
      assert.equal((await disabled.request(filled)).status, 404, path)
    }
    for (const path of ['/nope', '/validators/1/2', '/sign-in/link_a', '/fx/1/2', '/markets/x/y/z']) {
      const [reply, before] = [await site.request(path), await disabled.request(path)]
      assert.deepEqual([reply.status, reply.body], [404, before.body], path)
    }
  })

  test('404: an address that belongs to no interface is the page for a browser, and JSON for programs', async () => {
    await using site = await openConsole()
    const page = await site.request('/')
    const open = (path: string, accept: string, method: 'GET' | 'POST' = 'GET') =>
      site.request(path, { method, headers: { accept } })
    const browser = 'text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8'
    for (const path of ['/validatorss', '/foo', '/validators/12/x', '/fx/1/2', '/foo?q=1', '/a.html', '/console/x']) {
      const reply = await open(path, browser)
      assert.deepEqual([reply.status, reply.body], [404, page.body], path)
      assert.equal(reply.headers['content-type'], 'text/html; charset=utf-8')
      assert.equal(reply.headers['content-security-policy'], page.headers['content-security-policy'])
      // A cache must not send it to a program.
      assert.equal(reply.headers['cache-control'], 'no-store')
      assert.equal(reply.headers['x-tetrad-fault'], 'route.unknown')
      const again = await site.request(path, {
        headers: { accept: browser, 'if-none-match': String(page.headers.etag) },
      })
      assert.equal(again.status, 404)
      for (const accept of ['*/*', 'application/json', ''])
        assert.deepEqual(JSON.parse((await open(path, accept)).body).error.code, 'route.unknown', `${path} ${accept}`)
    }
    const head = await fetch(`${site.url}/foo`, { method: 'HEAD', headers: { accept: browser } })
    assert.deepEqual([head.status, await head.text()], [404, ''])
    assert.equal(head.headers.get('content-type'), 'text/html; charset=utf-8')
    // Below a path of an interface, and for other methods.
    for (const reply of [
      await open('/v1/eth/validatorss/12', browser),
      await open('/markets/x/y/z', browser),
      await open('/v0/eth/validators/1/2', browser),
      await open('/foo', browser, 'POST'),
    ]) {
      assert.equal(reply.status, 404)
      assert.match(String(reply.headers['content-type']), /^application\/json/)
    }
    assert.equal((await open('/markets', browser)).headers['content-type'], 'application/json; charset=utf-8')
    assert.match(site.lines.join('\n'), /"path":"\/validatorss","status":404,"outcome":"route\.unknown"/)
  })

  test('404: without a build, or if the console is disabled, a browser gets JSON', async () => {
    await using unbuilt = await openConsole({}, { built: false })
    await using disabled = await openConsole({ console: { enabled: false } })
    for (const site of [unbuilt, disabled]) {
      const { status, headers } = await site.request('/foo', { headers: { accept: 'text/html' } })
      assert.equal(status, 404)
      assert.match(String(headers['content-type']), /^application\/json/)
    }
  })

  test('no endpoint begins with the first segment of a page', () => {
    const firstOf = (path: string) => path.split('/')[1] ?? ''
    const pages = Object.values(consolePages).flat().map(firstOf)
    const endpoints = new Set(Object.values(allRoutes).map(({ path }) => firstOf(path)))
    assert.deepEqual(
      pages.filter((segment) => endpoints.has(segment)),
      [],
    )
  })

  test('405: only GET and HEAD are allowed', async () => {
    await using site = await openConsole()
    const reply = await site.request('/', { method: 'POST' })
    assert.deepEqual([reply.status, reply.headers.allow], [405, 'GET, HEAD'])
  })
})

describe('the documentation', () => {
  test('200: pages with the policy of the console; the address without a slash redirects', async () => {
    await using site = await openConsole()
    const redirect = await site.request('/docs')
    assert.deepEqual([redirect.status, redirect.headers.location], [308, '/docs/'])
    for (const [url, title] of [
      ['/docs/', 'Documentation one'],
      ['/docs/index.html', 'Documentation one'],
      ['/docs/endpoints/', 'Endpoints'],
      ['/docs/endpoints/one.html', 'Endpoint one'],
    ] as const) {
      const reply = await site.request(url)
      assert.equal(reply.status, 200, url)
      assert.ok(reply.body.includes(`<title>${title}</title>`), url)
      assert.equal(reply.headers['content-type'], 'text/html; charset=utf-8')
      assert.equal(reply.headers['cache-control'], 'no-cache')
      assert.match(String(reply.headers['content-security-policy']), /^default-src 'self';/)
      const again = await site.request(url, { headers: { 'if-none-match': String(reply.headers.etag) } })
      assert.equal(again.status, 304, url)
    }
  })

  test('200: every link of the built site leads to a page or file of the build', async () => {
    buildConsole()
    await using site = await openConsole({ server: { anonymousPerSecond: 0 } }, { builtDir: consoleDir })
    const { paths, broken, outside } = await crawlSite(async (path) => {
      const { status, headers, body } = await site.request(path)
      return { status, type: String(headers['content-type']), body }
    })
    assert.deepEqual(broken, [])
    assert.ok(paths.length > 130, String(paths.length))
    // The demo is at the address of the page, whatever its port.
    assert.ok(outside.includes('/validators/90?network=mainnet'), outside.join('\n'))
    assert.deepEqual(
      outside.filter((href) => href.includes('127.0.0.1')),
      [],
    )
  })

  test('200: a page without ".html", and a folder of any name', async () => {
    await using site = await openConsole()
    await mkdir(join(site.dir, 'docs/any/deeper'), { recursive: true })
    for (const name of ['start', 'any/a.b', 'any/index', 'any/deeper/page'])
      await writeFile(join(site.dir, `docs/${name}.html`), name)
    for (const [path, content] of [
      ['start', 'start'],
      ['start.html', 'start'],
      ['any/', 'any/index'],
      ['any/a.b', 'any/a.b'],
      ['any/deeper/page', 'any/deeper/page'],
    ] as const) {
      const { status, body } = await site.request(`/docs/${path}`)
      assert.deepEqual([status, body], [200, content], path)
    }
    const folder = await site.request('/docs/any')
    assert.deepEqual([folder.status, folder.headers.location], [308, 'any/'])
  })

  test('200: a new build is detected, and pages that it does not have are gone', async () => {
    await using site = await openConsole()
    await writeFile(join(site.dir, 'docs/old.html'), 'old')
    assert.equal((await site.request('/docs/old.html')).status, 200)
    await rm(site.dir, { recursive: true })
    await build(site.dir, 'another')
    assert.match((await site.request('/docs/endpoints/one.html')).body, /Endpoint another/)
    assert.equal((await site.request('/docs/old.html')).status, 404)
  })

  test('404: only files of the build, whatever the path', async () => {
    await using site = await openConsole()
    for (const path of [
      ...[
        'nothing.html',
        '..%2findex.html',
        '..%2f..%2ffavicon.svg',
        'endpoints/nothing.html',
        'nothing/',
        'favicon.svg.html',
      ],
      ...['endpoints/..%2f..%2findex.html', '..%2fassets/index-one.js', 'constructor', '__proto__/x', 'a/b/c'],
    ]) {
      assert.equal(await statusOf(site.url, `/docs/${path}`), 404, path)
    }
  })

  test('404: an unknown page is an HTML page of the build, at every depth, also with a matching etag', async () => {
    await using site = await openConsole()
    for (const path of ['nothing', 'endpoints/nothing.html', 'nothing/', 'a/b/', 'a/b/c', '404.html']) {
      const reply = await site.request(`/docs/${path}`)
      const { status, headers } = await site.request(`/docs/${path}`, {
        headers: { 'if-none-match': String(reply.headers.etag) },
      })
      assert.deepEqual([reply.status, status], [404, 404], path)
      assert.equal(headers['content-type'], 'text/html; charset=utf-8')
      assert.match(reply.body, /<title>Page not found<\/title>/)
    }
  })

  test('503: documentation that is not built explains how to build it', async () => {
    await using site = await openConsole({}, { built: false })
    for (const url of ['/docs/', '/docs/errors.html']) {
      const reply = await site.request(url)
      assert.equal(reply.status, 503)
      assert.match(reply.body, /npm run console/)
    }
  })
})

describe('assets', () => {
  test('200: with content type, immutable caching and compression', async () => {
    await using site = await openConsole()
    const plain = await site.request('/assets/index-one.js')
    assert.equal(plain.headers['content-type'], 'text/javascript; charset=utf-8')
    assert.equal(plain.headers['cache-control'], 'public, max-age=31536000, immutable')
    const request = (accept: string) => site.request('/assets/index-one.js', { headers: { 'accept-encoding': accept } })
    const [br, gz] = [await request('gzip, deflate, br'), await request('gzip, br;q=0')]
    assert.deepEqual([br.headers['content-encoding'], gz.headers['content-encoding']], ['br', 'gzip'])
    assert.equal(brotliDecompressSync(br.bytes).toString(), plain.body)
    assert.equal(gunzipSync(gz.bytes).toString(), plain.body)
    assert.equal(new Set([plain, br, gz].map(({ headers }) => headers.etag)).size, 3)
    const css = await site.request('/assets/index-one.css', { headers: { 'accept-encoding': 'br' } })
    assert.deepEqual(
      [css.headers['content-type'], css.headers['content-encoding']],
      ['text/css; charset=utf-8', undefined],
    )
    assert.equal((await site.request('/favicon.svg')).headers['content-type'], 'image/svg+xml')
  })

  test('404: only files of the build, whatever the path', async () => {
    await using site = await openConsole()
    await writeFile(join(site.dir, '../tetrad-outside.txt'), 'secret')
    await site.request('/')
    for (const name of [
      ...['nothing.js', '..%2findex.html', '%2e%2e%2ffavicon.svg', '..%2f..%2ftetrad-outside.txt', '..', '.'],
      ...['%2e%2e', '..%5cindex.html', 'index-one.js%00', '%2fetc%2fpasswd', 'constructor', '__proto__'],
    ]) {
      assert.equal(await statusOf(site.url, `/assets/${name}`), 404, name)
    }
    await rm(join(site.dir, '../tetrad-outside.txt'))
  })
})
