// Runs the examples of the documentation with a demo server: TypeScript blocks, the calls of the README, and the example
// call of each endpoint. api/build.test.ts checks that the TypeScript blocks compile.
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { pathToFileURL } from 'node:url'
import { promisify } from 'node:util'
import { createClient } from '#api/client/client.ts'
import { contract } from '#api/contract/contract.ts'
import { extensions } from '#api/contract/extensions.ts'
import type { Endpoint } from '#api/contract/kit.ts'
import type { EndpointId } from '#api/contract/routes.ts'
import { checker } from '#core/schema-check.ts'
import { extraPaths } from '#runtime/settings/aliases.ts'
import { type DemoServer, openDemoServer } from './demo-server.ts'

const run = promisify(execFile)
const root = join(import.meta.dirname, '..')
const clientFile = pathToFileURL(join(root, 'api/client/client.ts')).href
const pages = ['README.md', 'api/README.md', ...readdirSync(join(root, 'docs')).map((name) => `docs/${name}`)]

const globalsOf = (key: string): string => `
  import { Console } from 'node:console'
  import { Writable } from 'node:stream'
  export const printed = []
  export const console = new Console(new Writable({ write: (chunk, _, done) => (printed.push(String(chunk)), done()) }))
  export const process = { env: { TETRAD_KEY: '${key}' } }
`

const readme = readFileSync(join(root, 'README.md'), 'utf8')
const calls = readme.split('\n').filter((line) => line.startsWith('curl '))
const endpointIds = Object.keys(contract) as EndpointId[]

/** Examples that run until they are stopped. */
const isEndless = (code: string): boolean => code.includes('watchChanges')

describe('examples in the documentation', () => {
  const dir = mkdtempSync(join(tmpdir(), 'tetrad-examples-'))
  let demo: DemoServer
  before(async () => {
    symlinkSync(join(root, 'node_modules'), join(dir, 'node_modules'))
    // However fast the machine is, no limit is reached. Each test has its own key for the same reason.
    demo = await openDemoServer({ server: { port: 0, anonymousPerSecond: 10_000 } })
  })
  after(async () => {
    await demo[Symbol.asyncDispose]()
    rmSync(dir, { recursive: true, force: true })
  })

  for (const path of pages.filter((name) => name.endsWith('.md'))) {
    const blocks = [...readFileSync(join(root, path), 'utf8').matchAll(/^```ts\n(.*?)^```$/gms)]
    for (const [at, [, code = '']] of blocks.entries()) {
      if (isEndless(code)) continue
      test(`${path}, example ${at + 1} runs and prints something`, async () => {
        const file = join(dir, `${path.replaceAll(/\W/g, '-')}-${at}.mts`)
        const key = await demo.keyFor('enterprise')
        const source = code
          .replaceAll('http://127.0.0.1:8080', demo.url)
          .replaceAll('tetrad:…:…', key)
          .replaceAll("'@tetrad/api'", `'${clientFile}'`)
        // In this process, with its own console and environment: a new process costs more than the example.
        const globals = `${file}.globals.mjs`
        writeFileSync(globals, globalsOf(key))
        writeFileSync(file, `import { console, process } from '${globals}'\n${source}`)
        await import(file)
        const { printed } = (await import(globals)) as { printed: string[] }
        assert.ok(printed.join('').trim() !== '')
      })
    }
  }

  for (const endpoint of [...Object.values(contract), ...Object.values(extensions)] as Endpoint[]) {
    const { id, example, stream } = endpoint
    if (stream) continue
    test(`${id}: the example succeeds, or its page says what it needs`, async () => {
      const client = createClient({ baseUrl: demo.url, key: await demo.keyFor('enterprise'), retries: 0 })
      const failure = await client.call(id, example.input as never).then(
        () => undefined,
        (error: Error) => error,
      )
      if (example.needs === undefined) assert.ifError(failure)
      else assert.ok(failure, 'the example succeeds although it says that it needs something')
    })
  }

  test('the README shows one call per endpoint', () => assert.equal(calls.length, endpointIds.length))

  for (const [at, id] of endpointIds.entries()) {
    test(`${id}: the call of the README works`, async () => {
      const line = (calls[at] ?? '').replaceAll('http://127.0.0.1:8080', demo.url)
      const env = { PATH: process.env.PATH, TETRAD_KEY: await demo.keyFor('enterprise') }
      const { stdout } = await run('sh', ['-c', line], { env })
      assert.deepEqual(checker(contract[id].reply)(JSON.parse(stdout)), [], stdout.slice(0, 300))
    })
  }

  test('the server has every other path that an alias may use', async () => {
    // A download without a signature returns 403.
    const statusOf = (path: string) => (path.includes('{') ? 403 : 200)
    for (const path of extraPaths)
      assert.equal((await fetch(new URL(path.replace('{format}', 'csv'), demo.url))).status, statusOf(path), path)
  })
})
