// The commands and the table of the README. test/examples.test.ts runs its calls.
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { contract } from '#api/contract/contract.ts'

const readme = readFileSync(join(import.meta.dirname, '..', 'README.md'), 'utf8')

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
