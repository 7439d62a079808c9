// The pages of the console and everything else that a whole server answers do not hide each other.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { complete } from '#core/schema-check.ts'
import { SettingsSchema } from '#runtime/settings.ts'
import { consolePages } from '#shared/console-pages.ts'
import { openDemoServer } from './demo-server.ts'
import { inject } from './inject.ts'

test('without the console, a server answers at no address of a page', async () => {
  await using demo = await openDemoServer({ console: { enabled: false } })
  const paths = Object.values(consolePages).flat()
  const first = paths.map((path) => `/${path.split('/')[1]}`)
  for (const path of new Set([...paths, ...first])) {
    const url = path.replaceAll(/\{\w+\}/g, 'x')
    for (const method of ['GET', 'POST', 'DELETE'] as const)
      assert.equal((await inject(demo.server, { url, method })).statusCode, 404, `${method} ${url}`)
  }
})

test('an address with a path is refused, because the console and its links begin at the root', () => {
  const problemsOf = (publicUrl: string) => complete(SettingsSchema, { server: { publicUrl } }).problems.length
  assert.deepEqual(['https://example.org', 'https://example.org/tetrad'].map(problemsOf), [0, 1])
})
