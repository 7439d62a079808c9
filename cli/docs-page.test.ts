import assert from 'node:assert/strict'
import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { docsPage } from './docs-page.ts'

test('in a clone, a page is a file; for users of the package, an address of the server', () => {
  assert.equal(docsPage('labels', {}, false), 'docs/labels.md')
  assert.equal(docsPage('labels', {}, true), 'http://127.0.0.1:8080/docs/labels (of a running server)')
  const variables = { TETRAD_URL: 'https://data.example.net/' }
  assert.equal(docsPage('labels', variables, true), 'https://data.example.net/docs/labels (of a running server)')
})

test('no command names a file of the documentation, which the package does not have', () => {
  const cliDir = import.meta.dirname
  const sources = globSync('*.ts', { cwd: cliDir, exclude: ['*.test.ts', 'docs-page.ts', 'build.ts'] })
  const named = sources.filter((name) =>
    readFileSync(join(cliDir, name), 'utf8')
      .split('\n')
      .some((line) => !/^\s*(\/\/|\*|\/\*)/.test(line) && /docs\/[a-z-]+\.md/.test(line)),
  )
  assert.ok(sources.length > 50)
  assert.deepEqual(named, [])
})
