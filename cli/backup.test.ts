// Backups of stores that are not in the data folder.
import assert from 'node:assert/strict'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { openFolder, run } from './run.ts'

test('with the facts on ClickHouse backup and restore refuse and say what to use instead', async () => {
  await using home = await openFolder()
  const { dir: cwd } = home
  const env = { TETRAD_STORE_FACTS: 'clickhouse://me:hunter2@127.0.0.1:9/facts' }
  const cases: [string, RegExp][] = [
    ['backup', /The facts are in ClickHouse, not in the data folder: .*BACKUP DATABASE/],
    ['restore', /The facts are in ClickHouse, not in the data folder: .*RESTORE DATABASE/],
  ]
  for (const [command, words] of cases) {
    const refused = await run([command, 'copy'], { cwd, env })
    assert.equal(refused.code, 1)
    assert.match(refused.stderr, words)
    assert.doesNotMatch(refused.stderr, /hunter2/)
    assert(!existsSync(join(cwd, 'copy')))
  }
})
