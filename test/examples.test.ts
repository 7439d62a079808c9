// The examples of the pages, run as a reader would: TypeScript pasted into a file, endpoints asked as their pages show it,
// with the demo's server and a key. That they also compile is seen where the package is built (api/build.test.ts).
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

/** Some follow what happens until they are stopped. */
const isEndless = (code: string): boolean => code.includes('watchChanges')

describe('examples of the pages', () => {
  const dir = mkdtempSync(join(tmpdir(), 'tetrad-examples-'))
  let world: DemoServer
  before(async () => {
    symlinkSync(join(root, 'node_modules'), join(dir, 'node_modules'))
    world = await openDemoServer()
  })
  after(async () => {
    await world[Symbol.asyncDispose]()
    rmSync(dir, { recursive: true, force: true })
  })

  for (const path of pages.filter((name) => name.endsWith('.md'))) {
    const blocks = [...readFileSync(join(root, path), 'utf8').matchAll(/^```ts\n(.*?)^```$/gms)]
    for (const [at, [, code = '']] of blocks.entries()) {
      if (isEndless(code)) continue
      test(`${path}, example ${at + 1}: it runs and says something`, async () => {
        const file = join(dir, `${path.replaceAll(/\W/g, '-')}-${at}.mts`)
        const pasted = code
          .replaceAll('http://127.0.0.1:8080', world.url)
          .replaceAll('tetrad:…:…', world.key)
          .replaceAll("'@tetrad/api'", `'${clientFile}'`)
        writeFileSync(file, pasted)
        const { stdout } = await run(process.execPath, [file], { env: { ...process.env, TETRAD_KEY: world.key } })
        assert.ok(stdout.trim() !== '', stdout)
      })
    }
  }

  for (const endpoint of [...Object.values(contract), ...Object.values(extensions)] as Endpoint[]) {
    const { id, example, stream } = endpoint
    if (stream) continue
    test(`${id}: the demo answers the example, or its page says what has to be there first`, async () => {
      const client = createClient({ baseUrl: world.url, key: world.key, retries: 0 })
      const failure = await client.call(id, example.input as never).then(
        () => undefined,
        (error: Error) => error,
      )
      if (example.needs === undefined) assert.ifError(failure)
      else assert.ok(failure, 'it needs nothing')
    })
  }
})
