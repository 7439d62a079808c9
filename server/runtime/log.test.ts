import assert from 'node:assert/strict'
import { test } from 'node:test'
import { openLog } from './log.ts'

test('long and nested fields are shortened', () => {
  const lines: string[] = []
  const log = openLog('info', (line) => lines.push(line))
  const long = 'x'.repeat(1_000_000)
  log.info({ path: long, nested: { list: [long, 7] }, many: Array(1000).fill('y') }, 'request')
  log.child({ part: 'store' }).warn({ error: long }, 'failed')
  for (const line of lines) assert.ok(line.length < 10_000, `${line.length}`)
  const [first, second] = lines.map((line) => JSON.parse(line))
  assert.equal(first.path, `${'x'.repeat(2000)}…`)
  assert.equal(first.nested.list[1], 7)
  assert.deepEqual([second.part, second.msg, second.error.length], ['store', 'failed', 2001])
})
