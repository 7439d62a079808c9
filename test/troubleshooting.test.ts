// The troubleshooting tables of docs/*.md quote messages that operators see. Each must be a text of a source file; those
// of clients are in test/simulator.
import assert from 'node:assert/strict'
import { globSync, readFileSync } from 'node:fs'
import { join, normalize } from 'node:path'
import { test } from 'node:test'

const root = normalize(join(import.meta.dirname, '..'))
const read = (file: string) => readFileSync(join(root, file), 'utf8')

const source = globSync(
  ['{api,shared,server,cli,conformance,console}/**/*.{ts,tsx,js}', 'test/simulator/{profiles,known-errors}.ts'],
  {
    cwd: root,
    exclude: ['**/dist/**', '**/*.test.ts', '**/*.test.tsx'],
  },
)
  .map(read)
  .join('\n')

interface Quote {
  readonly page: string
  readonly message: string
}

const isMessage = (code: string): boolean => code.includes(' ') && !code.startsWith('tetrad ')

/** Messages in the first column: text in double quotes, and code of several words that is not a command. */
function quotesIn(page: string): Quote[] {
  const [, section = ''] = read(page).split(/^## Troubleshooting$/m)
  const [table = ''] = section.split(/^## /m)
  return [...table.matchAll(/^\| (.+?) \|/gm)].flatMap(([, cell = '']) =>
    [...cell.matchAll(/"([^"]+)"|`([^`]+)`/g)]
      .map(([, text, code = '']) => text?.replaceAll('`', '') ?? (isMessage(code) ? code : ''))
      .filter((message) => message !== '')
      .map((message) => ({ page, message })),
  )
}

/** "…" and numbers stand for values, which source files write as `${…}`. */
const patternOf = (message: string): RegExp =>
  new RegExp(
    message
      .split(/…|\d+/)
      .map((part) => RegExp.escape(part))
      .join('.*?'),
  )

const quotes = globSync('docs/*.md', { cwd: root }).flatMap(quotesIn)

test('every message in a troubleshooting table is a text of a source file', () => {
  const missing = quotes.filter(({ message }) => !patternOf(message).test(source))
  assert.deepEqual(missing, [])
})

test('the check finds quoted messages, and notices a wrong one', () => {
  assert.ok(quotes.length > 30)
  assert.ok(quotes.some(({ message }) => message === 'conflicts with line …'))
  assert.ok(!patternOf('conflicts in line …').test(source))
})
