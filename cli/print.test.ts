import assert from 'node:assert/strict'
import { execFileSync, spawnSync } from 'node:child_process'
import { describe, test } from 'node:test'
import { table } from './print.ts'

const code = `
  import { paint } from ${JSON.stringify(import.meta.resolve('./print.ts'))}
  process.stdout.write(['ok', 'warning', 'error'].map((tone) => paint(tone, tone)).join(' '))
`
const plain = 'ok warning error'
// Node.js also turns colours off where CI is set.
const { CI, NO_COLOR, FORCE_COLOR, NODE_DISABLE_COLORS, ...rest } = process.env
const env = { ...rest, TERM: 'xterm' }
const args = ['--input-type=module', '--eval', code]

const hasTerminal = spawnSync('script', ['--version'], { encoding: 'utf8' }).stdout?.includes('util-linux') === true
/** What a terminal shows. */
const shownWith = (variables: NodeJS.ProcessEnv) =>
  execFileSync('script', ['-qefc', '"$NODE" --input-type=module --eval "$CODE"', '/dev/null'], {
    env: { ...env, ...variables, NODE: process.execPath, CODE: code },
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'inherit'],
  })

describe('paint', () => {
  test('uses no colour in a pipe', () => {
    assert.equal(execFileSync(process.execPath, args, { env, encoding: 'utf8' }), plain)
  })

  test('uses green, yellow and red on a terminal, but not with NO_COLOR', {
    skip: !hasTerminal && 'needs script of util-linux',
  }, () => {
    const painted = '\u001b[32mok\u001b[39m \u001b[33mwarning\u001b[39m \u001b[31merror\u001b[39m'
    assert.equal(shownWith({}), painted)
    assert.equal(shownWith({ NO_COLOR: '1' }), plain)
  })
})

test('a table is aligned by what is visible', () => {
  const rows = [
    ['\u001b[32mok\u001b[39m', 'a'],
    ['STALE', 'b'],
  ]
  assert.deepEqual(table(['status', 'name'], rows).split('\n').slice(1), ['\u001b[32mok\u001b[39m      a', 'STALE   b'])
})
