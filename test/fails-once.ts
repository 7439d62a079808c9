// Run by groups.test.ts: it fails in the first of two processes.
import assert from 'node:assert/strict'
import { existsSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'

test('passes the second time', () => {
  const mark = join(process.env.TEST_SHARED_DIR ?? '', 'fails-once')
  const hasRun = existsSync(mark)
  writeFileSync(mark, '')
  assert.ok(hasRun, 'too early')
})
