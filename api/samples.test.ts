import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { test } from 'node:test'
import { contract } from './contract.ts'
import { extensions } from './extensions.ts'
import { allRoutes } from './routes.ts'
import { clientOf, curlOf } from './samples.ts'

const key = `tetrad:demo:${'s'.repeat(43)}`
const base = 'http://127.0.0.1:1'
const all = [...Object.values(contract), ...Object.values(extensions)]

/** The arguments that a shell parses, one per line. */
const words = (line: string) =>
  execFileSync('sh', ['-c', line.replace(/^curl/, 'printf "%s\\n"')], { encoding: 'utf8' })
    .trimEnd()
    .split('\n')

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
  const said = words(curlOf('fx.createQuote', base, input, key))
  assert.ok(said.includes("idempotency-key: it's"))
  assert.ok(said.includes(`authorization: Bearer ${key}`))
  assert.deepEqual(JSON.parse(said.at(-1) ?? '').from, contract['fx.createQuote'].example.input.from)
})

test('client: every sample runs and calls its endpoint with the given input', () => {
  for (const { id, example } of all) {
    const input = { ...example.input, note: "it's \\ a\nline", big: 2n ** 64n, 'odd-name': [1, null] }
    const sample = clientOf(id, base, input)
    const expression = /client\.[\w.]+\((\{.*\})\)/.exec(sample)?.[1]
    assert.deepEqual(new Function(`return ${expression}`)(), input)
    const called = allRoutes[id].stream ? 'client.markets.watchChanges(' : `client.${id}(`
    assert.ok(sample.includes(called), sample)
  }
})
