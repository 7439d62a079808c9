import assert from 'node:assert/strict'
import { execFileSync, spawnSync } from 'node:child_process'
import { test } from 'node:test'
import { contract } from './contract.ts'
import { extensions } from './extensions.ts'
import { parseJson } from './json.ts'
import { toRequest } from './request.ts'
import { allRoutes } from './routes.ts'
import { clientOf, curlOf, keyVariable, pythonOf } from './samples.ts'

const key = `tetrad:demo:${'s'.repeat(43)}`
const base = 'http://127.0.0.1:1'
const all = [...Object.values(contract), ...Object.values(extensions)]

/** The arguments that a shell parses, one per line. */
const words = (line: string) =>
  execFileSync('sh', ['-c', line.replace(/^curl/, 'printf "%s\\n"')], { encoding: 'utf8', env: { TETRAD_KEY: key } })
    .trimEnd()
    .split('\n')

const noPython = spawnSync('python3', ['--version']).status !== 0 && 'python3 not found'
const printRequests = `
import io, json, sys, urllib.request
def show(request):
    headers = {name.lower(): value for name, value in request.header_items()}
    body = request.data.decode() if request.data else None
    print(json.dumps({'url': request.full_url, 'method': request.get_method(), 'headers': headers, 'body': body}), file=sys.__stdout__)
    return io.BytesIO(b'{}')
urllib.request.urlopen = show
sys.stdout = io.StringIO()
for sample in json.loads(sys.argv[1]):
    exec(sample, {})
`

test('curl: every endpoint has a sample that the shell parses correctly', () => {
  for (const { id, example, path } of all) {
    const [silent, url = ''] = words(curlOf(id, base, { ...example.input }, key))
    assert.equal(silent, '-s')
    const { pathname } = new URL(url)
    assert.match(pathname, new RegExp(`^${path.replace(/\{\w+\}/, '[^/]+')}$`))
  }
})

test('curl: quotes in values are escaped', () => {
  const input = { ...contract['fx.createQuote'].example.input, idempotencyKey: "it's" }
  const parts = words(curlOf('fx.createQuote', base, input, key))
  assert.ok(parts.includes("idempotency-key: it's"))
  assert.ok(parts.includes(`authorization: Bearer ${key}`))
  assert.deepEqual(JSON.parse(parts.at(-1) ?? '').from, contract['fx.createQuote'].example.input.from)
})

test('curl: the key can come from the environment', () => {
  for (const { id, example, auth } of all) {
    const line = curlOf(id, base, { ...example.input, note: '$HOME' }, auth === 'open' ? undefined : keyVariable)
    const text = words(line).join('\n')
    assert.equal(text.includes(key), auth !== 'open', id)
    assert.ok(text.includes('%24HOME') || text.includes('$HOME'), id)
  }
})

test('Python: every sample runs and sends the request that the client sends', { skip: noPython }, () => {
  // One process for all samples: `urlopen` prints the request instead of sending it.
  const samples = all.map(({ id, example }) => pythonOf(id, base, { ...example.input }))
  const quoted = { note: "it's \\ a\nline", isOpen: true, none: [null, 2n ** 64n] }
  samples.push(pythonOf('markets.bySlug', base, { slug: "it's" }), pythonOf('fx.createQuote', base, quoted))
  const output = execFileSync('python3', ['-c', printRequests, JSON.stringify(samples)], {
    encoding: 'utf8',
    env: { ...process.env, TETRAD_KEY: key },
  })
  const sent = output.trimEnd().split('\n')
  for (const [at, { id, example, auth }] of all.entries()) {
    const { url, method, headers, body } = toRequest(id, base, { ...example.input }, auth === 'open' ? undefined : key)
    const request = JSON.parse(sent[at] ?? '') as Record<string, unknown>
    const query = (text: string) => [...new URL(text).searchParams]
    assert.deepEqual(query(String(request.url)), query(url), id)
    assert.equal(new URL(String(request.url)).pathname, new URL(url).pathname, id)
    assert.equal(request.method, method, id)
    assert.deepEqual({ accept: headers.accept, ...(request.headers as object) }, headers, id)
    if (body !== undefined) assert.deepEqual(JSON.parse(String(request.body)), JSON.parse(body), id)
  }
  assert.deepEqual(parseJson(JSON.parse(sent.at(-1) ?? '').body), quoted)
})

test('client: every sample runs and calls its endpoint with the given input', () => {
  for (const { id, example } of all) {
    const input = { ...example.input, note: "it's \\ a\nline", big: 2n ** 64n, 'odd-name': [1, null] }
    const sample = clientOf(id, base, input)
    const expression = /client\.[\w.]+\((\{.*\})\)/s.exec(sample)?.[1]
    assert.deepEqual(new Function(`return ${expression}`)(), input)
    const called = allRoutes[id].stream ? 'client.markets.watchChanges(' : `client.${id}(`
    assert.ok(sample.includes(called), sample)
  }
})
