// Runs the examples of the documentation with a demo server: TypeScript blocks, and the example call of each endpoint.
// api/build.test.ts checks that they compile.
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { pathToFileURL } from 'node:url'
import { promisify } from 'node:util'
import { createClient } from '#api/client.ts'
import { contract } from '#api/contract.ts'
import { extensions } from '#api/extensions.ts'
import type { Endpoint } from '#api/kit.ts'
import { type DemoServer, openDemoServer } from './demo-server.ts'

const run = promisify(execFile)
const root = join(import.meta.dirname, '..')
const clientFile = pathToFileURL(join(root, 'api/client.ts')).href
const pages = ['README.md', 'api/README.md', ...readdirSync(join(root, 'docs')).map((name) => `docs/${name}`)]

/** Examples that run until they are stopped. */
const isEndless = (code: string): boolean => code.includes('watchChanges')

describe('examples in the documentation', () => {
  const dir = mkdtempSync(join(tmpdir(), 'tetrad-examples-'))
  let demo: DemoServer
  before(async () => {
    symlinkSync(join(root, 'node_modules'), join(dir, 'node_modules'))
    demo = await openDemoServer()
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
        const source = code
          .replaceAll('http://127.0.0.1:8080', demo.url)
          .replaceAll('tetrad:…:…', demo.key)
          .replaceAll("'@tetrad/api'", `'${clientFile}'`)
        writeFileSync(file, source)
        const { stdout } = await run(process.execPath, [file], { env: { ...process.env, TETRAD_KEY: demo.key } })
        assert.ok(stdout.trim() !== '', stdout)
      })
    }
  }

  for (const endpoint of [...Object.values(contract), ...Object.values(extensions)] as Endpoint[]) {
    const { id, example, stream } = endpoint
    if (stream) continue
    test(`${id}: the example succeeds, or its page says what it needs`, async () => {
      const client = createClient({ baseUrl: demo.url, key: demo.key, retries: 0 })
      const failure = await client.call(id, example.input as never).then(
        () => undefined,
        (error: Error) => error,
      )
      if (example.needs === undefined) assert.ifError(failure)
      else assert.ok(failure, 'the example succeeds although it says that it needs something')
    })
  }
})
