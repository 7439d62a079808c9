// Backups of a server whose state is on PostgreSQL.
import assert from 'node:assert/strict'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { openFolder, runCommand } from '#test/run-command.ts'

test('with the state on PostgreSQL, backup and restore refuse and name the tool to use', async () => {
  await using home = await openFolder()
  const { dir: cwd } = home
  const env = { TETRAD_STORE_STATE: 'postgres://me:hunter2@127.0.0.1:9/state' }
  const cases: [string, RegExp][] = [
    ['backup', /The state is in PostgreSQL, not in the data folder: .*pg_dump/],
    ['restore', /The state is in PostgreSQL, not in the data folder: .*pg_restore/],
  ]
  for (const [command, message] of cases) {
    const refused = await runCommand([command, 'copy'], { cwd, env })
    assert.equal(refused.code, 1)
    assert.match(refused.stderr, message)
    assert.doesNotMatch(refused.stderr, /hunter2/)
    assert(!existsSync(join(cwd, 'copy')))
  }
})
