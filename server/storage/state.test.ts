import { strict as assert } from 'node:assert'
import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'

const root = join(import.meta.dirname, '../..')

test('every rule of state.ts has a test that cites it', () => {
  const rules = readFileSync(join(import.meta.dirname, 'state.ts'), 'utf8').matchAll(/^\/\/ (\d+)\. /gm)
  const files = globSync(['server/**/*.test.ts', 'test/state-suite/*.ts'], { cwd: root })
  const tests = files.map((file) => readFileSync(join(root, file), 'utf8')).join('\n')
  const cited = new Set([...tests.matchAll(/test\([^\n]*\(storage\/state\.ts, rule (\d+)\)/g)].map(([, rule]) => rule))
  const numbers = Array.from(rules, ([, number]) => number)
  assert.ok(numbers.length >= 15)
  assert.deepEqual(
    numbers.filter((number) => !cited.has(number)),
    [],
  )
})
