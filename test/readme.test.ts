// The commands and the table of the README, and the links of all pages in the root. test/examples.test.ts runs its calls.
import assert from 'node:assert/strict'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { contract } from '#api/contract/contract.ts'
import { renderMarkdown } from '../docs/site/markdown.ts'

const read = (path: string): string => readFileSync(join(import.meta.dirname, '..', path), 'utf8')
const readme = read('README.md')

describe('README', () => {
  test('starts with the two commands', () => {
    const [start, check] = readme.split('\n').filter((line) => line.startsWith('npm ci'))
    assert.match(start ?? '', /^npm ci && npm start/)
    assert.match(check ?? '', /^npm ci && npm test/)
  })

  test('its table contains every route of the contract', () => {
    for (const { id, method, path } of Object.values(contract)) {
      const row = readme.split('\n').find((line) => line.includes(`docs/endpoints/${id}.md`))
      assert.ok(row?.includes(`${method} ${path}`), id)
    }
  })
})

for (const page of ['README.md', 'ARCHITECTURE.md', 'CONTRIBUTING.md', 'CHANGELOG.md'])
  test(`every link of ${page} leads to a file, and to a heading in it`, () => {
    const links = [...read(page).matchAll(/\]\((?!https?:)([^)#]*)(?:#([^)]*))?\)/g)]
    const broken = links.filter(([, path, anchor]) => {
      const target = path || page
      if (!existsSync(join(import.meta.dirname, '..', target))) return true
      if (anchor === undefined) return false
      return renderMarkdown(read(target), () => undefined).headings.every((heading) => heading.anchor !== anchor)
    })
    assert.deepEqual(
      broken.map(([link]) => link),
      [],
    )
  })
