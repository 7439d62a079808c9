import assert from 'node:assert/strict'
import { createServer, type RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'
import { test } from 'node:test'
import { brotliCompressSync, deflateSync, gzipSync } from 'node:zlib'
import {
  cleanUrl,
  cleanUrls,
  FetchError,
  type FetchFailure,
  type FetchOptions,
  fetchBytes,
  fetchJson,
  fetchText,
} from './http-client.ts'

async function serve(listener: RequestListener) {
  const server = createServer(listener)
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  return {
    url: `http://127.0.0.1:${port}/rates`,
    host: `127.0.0.1:${port}`,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}

const limits: FetchOptions = { timeoutMs: 5000, bytesMax: 1000 }

const failsWith = (failure: FetchFailure, words: RegExp) => (error: unknown) => {
  assert.ok(error instanceof FetchError, String(error))
  assert.equal(error.failure, failure)
  assert.match(error.message, words)
  return true
}

test('returns the parsed JSON of a 200 response', async () => {
  await using server = await serve((_, response) => response.end('{"a":[1]}'))
  assert.deepEqual(await fetchJson(server.url, limits), { a: [1] })
})

test('user name and password of the URL are sent as a header', async () => {
  await using server = await serve((request, response) => response.end(request.headers.authorization))
  const text = await fetchText(`http://de%3Ask:pass@${server.host}/`, limits)
  assert.equal(text, `Basic ${Buffer.from('de:sk:pass').toString('base64')}`)
})

test('a large response is read into the allocated buffer; without a length, or compressed, it is concatenated', async () => {
  const large = Buffer.from(Array.from({ length: 3_000_000 }, (_, at) => at % 251))
  await using server = await serve((request, response) => {
    if (request.url === '/plain') response.writeHead(200, { 'content-length': large.length }).end(large)
    else if (request.url === '/packed') response.writeHead(200, { 'content-encoding': 'gzip' }).end(gzipSync(large))
    else response.write(large, () => response.end())
  })
  const buffer = new Uint8Array(4_000_000)
  const options = { timeoutMs: 5000, bytesMax: 5_000_000, allocate: () => buffer }
  const at = (path: string) => fetchBytes(`http://${server.host}${path}`, options)
  for (const path of ['/plain', '/packed', '/chunked']) {
    const { bytes } = await at(path)
    assert.equal(bytes.buffer === buffer.buffer, path === '/plain', path)
    assert.equal(Buffer.compare(bytes, large), 0, path)
  }
  const tight = { ...options, bytesMax: 2_000_000 }
  await assert.rejects(fetchBytes(`http://${server.host}/plain`, tight), failsWith('size', /more than 2000000 bytes/))
})

test('a response that is too long is refused, also if compressed', async () => {
  await using server = await serve((request, response) => {
    const long = Buffer.alloc(200_000, 'x')
    if (request.url === '/rates') return void response.end(long)
    response.setHeader('content-encoding', 'gzip')
    response.end(gzipSync(long))
  })
  await assert.rejects(fetchText(server.url, limits), failsWith('size', /more than 1000 bytes/))
  await assert.rejects(fetchText(`${server.url}/zip`, limits), failsWith('size', /more than 1000 bytes/))
})

test('all encodings that the request accepts are decoded; an unknown one is left as it is', async () => {
  const packed = {
    gzip: gzipSync('text'),
    deflate: deflateSync('text'),
    br: brotliCompressSync('text'),
    custom: 'text',
  }
  await using server = await serve((request, response) => {
    const encoding = (request.url ?? '').slice(1) as keyof typeof packed
    const accepts = request.headers['accept-encoding']?.includes(encoding) || encoding === 'custom'
    response.writeHead(accepts ? 200 : 406, { 'content-encoding': encoding }).end(packed[encoding])
  })
  for (const encoding of Object.keys(packed))
    assert.equal(await fetchText(`http://${server.host}/${encoding}`, limits), 'text', encoding)
})

test('connections are used again after a response, and after a refused one with a short body', async () => {
  const ports: (number | undefined)[] = []
  await using server = await serve((request, response) => {
    ports.push(request.socket.remotePort)
    response.writeHead(request.url === '/missing' ? 404 : 200).end('{}')
  })
  for (const options of [limits, limits, { ...limits, keepsErrorText: true } as const])
    for (const path of ['/', '/missing', '/missing'])
      await fetchText(`http://${server.host}${path}`, options).catch(failsWith('status', /status 404/))
  assert.equal(ports.length, 9)
  // A request may start just before the connection of the previous one is free.
  assert.ok(new Set(ports).size <= 2, String(ports))
})

test('a query on a connection that the server has closed is sent again on a new one', async () => {
  const requestsOn = new WeakMap<object, number>()
  const methods: string[] = []
  await using server = await serve(({ method = '', socket }, response) => {
    const count = (requestsOn.get(socket) ?? 0) + 1
    requestsOn.set(socket, count)
    methods.push(method)
    if (count > 1) socket.destroy()
    else response.end('text')
  })
  assert.equal(await fetchText(server.url, limits), 'text')
  assert.equal(await fetchText(server.url, limits), 'text')
  assert.deepEqual(methods, ['GET', 'GET', 'GET'])
  assert.equal(await fetchText(server.url, { ...limits, method: 'POST', isQuery: true }), 'text')
  assert.deepEqual(methods.slice(3), ['POST', 'POST'])
  // A request that may have an effect is not repeated.
  await assert.rejects(fetchText(server.url, { ...limits, method: 'POST' }), failsWith('network', /ECONNRESET/))
  assert.deepEqual(methods.slice(5), ['POST'])
})

test('a refused response without an end is reported by its status and the start of its text', async () => {
  await using server = await serve((_, response) => response.writeHead(500).write('pruned'))
  await assert.rejects(fetchText(server.url, { ...limits, keepsErrorText: true }), (error: unknown) => {
    assert.ok(error instanceof FetchError)
    assert.deepEqual([error.failure, error.status, error.text], ['status', 500, 'pruned'])
    return true
  })
  await assert.rejects(fetchText(server.url, limits), failsWith('status', /status 500/))
})

test('a response that ends early is a network failure, also if compressed', async () => {
  await using server = await serve((request, response) => {
    const head = request.url === '/zip' ? { 'content-encoding': 'gzip' } : {}
    const bytes = request.url === '/zip' ? gzipSync('{"a":1}') : Buffer.from('{"a":1}')
    response.writeHead(200, { 'content-length': bytes.length, ...head })
    response.write(bytes.subarray(0, 5), () => request.socket.destroy())
  })
  for (const path of ['/', '/zip'])
    await assert.rejects(fetchText(`http://${server.host}${path}`, limits), failsWith('network', /ECONNRESET/))
})

test('redirects are not followed, and the error names the target without credentials', async () => {
  await using server = await serve((_, response) => {
    response.writeHead(302, { location: 'https://user:secret@elsewhere.example/x?token=secret' }).end()
  })
  await assert.rejects(
    fetchText(server.url, limits),
    failsWith('redirect', /redirects to https:\/\/elsewhere\.example\/…; configure/),
  )
})

test('other statuses, invalid text and refused connections have their own errors', async () => {
  await using server = await serve((request, response) => {
    if (request.url === '/rates') return void response.writeHead(500).end('{}')
    response.end(Buffer.from([0x22, 0xff, 0x22]))
  })
  await assert.rejects(fetchJson(server.url, limits), failsWith('status', /status 500/))
  await assert.rejects(fetchJson(`${server.url}2`, limits), failsWith('text', /UTF-8 text/))
  await assert.rejects(fetchJson('http://127.0.0.1:1/', limits), failsWith('network', /cannot be reached/))
  await assert.rejects(fetchJson('data:,{}', limits), failsWith('address', /not an http/))
})

test('a request without a response ends by timeout or by the signal', async () => {
  await using server = await serve(() => {})
  await assert.rejects(fetchText(server.url, { ...limits, timeoutMs: 50 }), failsWith('timeout', /within 50 ms/))
  const stop = new AbortController()
  const pending = fetchText(server.url, { ...limits, signal: stop.signal })
  stop.abort()
  await assert.rejects(pending, failsWith('stopped', /aborted/))
})

test('errors contain only scheme, host and port of a URL', async () => {
  const shown = 'https://rpc.example:8443/…'
  for (const more of ['/v3/0123456789abcdef0123456789abcdef', '/short-key', '/v1?apikey=k', '?k', '/x?k&q=1#f'])
    assert.equal(cleanUrl(`https://u:p@rpc.example:8443${more}`), shown, more)
  assert.equal(cleanUrl('https://rpc.example:8443/'), 'https://rpc.example:8443')
  assert.equal(cleanUrl('not an address with a secret'), 'the URL')
  await using server = await serve((_, response) => response.writeHead(302, { location: '/other/key2' }).end())
  await assert.rejects(fetchText(`${server.url}key1?key3`, limits), {
    message: `${cleanUrl(`${server.url}key1`)} redirects to another path of the same host; configure the final URL`,
  })
})

test('equal names of URLs get their number in the list', () => {
  assert.deepEqual(cleanUrls(['https://a.example/k1', 'https://b.example/k2', 'https://a.example/k3']), [
    'https://a.example/… (number 1)',
    'https://b.example/…',
    'https://a.example/… (number 3)',
  ])
})

test('the caller can set the name of the server in errors', async () => {
  await using server = await serve((_, response) => response.writeHead(404).end())
  const shown = 'the node/eth/v1/node/version'
  await assert.rejects(fetchText(server.url, { ...limits, label: shown }), {
    message: `${shown} returned status 404`,
  })
})
