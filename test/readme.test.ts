// Runs the calls of the README in a shell.
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { promisify } from 'node:util'
import { contract } from '#api/contract.ts'
import type { EndpointId } from '#api/routes.ts'
import { checker } from '#core/schema-check.ts'
import { extraPaths } from '#runtime/settings/aliases.ts'
import { type DemoServer, openDemoServer } from './demo-server.ts'

const run = promisify(execFile)
const readme = readFileSync(join(import.meta.dirname, '..', 'README.md'), 'utf8')
const calls = readme.split('\n').filter((line) => line.startsWith('curl '))
const endpointIds = Object.keys(contract) as EndpointId[]

describe('README', () => {
  let demo: DemoServer
  before(async () => {
    demo = await openDemoServer()
  })
  after(() => demo[Symbol.asyncDispose]())

  test('starts with the two commands', () => {
    const [start, check] = readme.split('\n').filter((line) => line.startsWith('npm ci'))
    assert.match(start ?? '', /^npm ci && npm start/)
    assert.match(check ?? '', /^npm ci && npm test/)
  })

  test('shows one call per endpoint', () => assert.equal(calls.length, endpointIds.length))

  for (const [at, id] of endpointIds.entries()) {
    test(`${id}: the call works`, async () => {
      const line = (calls[at] ?? '').replaceAll('http://127.0.0.1:8080', demo.url)
      const { stdout } = await run('sh', ['-c', line], { env: { PATH: process.env.PATH, TETRAD_KEY: demo.key } })
      assert.deepEqual(checker(contract[id].reply)(JSON.parse(stdout)), [], stdout.slice(0, 300))
    })
  }

  test('the server has every other path that an alias may use', async () => {
    // A download without a signature returns 403.
    const statusOf = (path: string) => (path.includes('{') ? 403 : 200)
    for (const path of extraPaths)
      assert.equal((await fetch(new URL(path.replace('{format}', 'csv'), demo.url))).status, statusOf(path), path)
  })

  test('its table contains every route of the contract', () => {
    for (const { id, method, path } of Object.values(contract)) {
      const row = readme.split('\n').find((line) => line.includes(`docs/endpoints/${id}.md`))
      assert.ok(row?.includes(`${method} ${path}`), id)
    }
  })
})
