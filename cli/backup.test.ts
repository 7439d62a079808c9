// Backups that are refused or fail.
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { mkdir, readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { test } from 'node:test'
import { isInstalled } from '#test/programs.ts'
import { commandEnv, launcher, openFolder, runCommand } from '#test/run-command.ts'

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

test('a backup that fails the check of its copy leaves the folder empty for the next one', async () => {
  await using home = await openFolder()
  const { dir: cwd } = home
  assert.equal((await runCommand(['keys', 'create', '--name', 'x', '--plan', 'free'], { cwd })).code, 0)
  const db = new DatabaseSync(join(cwd, 'data', 'state.sqlite'), { enableForeignKeyConstraints: false })
  db.exec('create table parent (id integer primary key); create table child (id references parent (id))')
  db.exec('insert into child values (1)')
  await mkdir(join(cwd, 'copy'))
  const failed = await runCommand(['backup', 'copy'], { cwd })
  assert.equal(failed.code, 1)
  assert.match(failed.stderr, /a row of child references a missing row of parent/)
  assert.deepEqual(await readdir(join(cwd, 'copy')), [])
  db.exec('delete from child')
  db.close()
  assert.equal((await runCommand(['backup', 'copy'], { cwd })).code, 0)
})

test('on a terminal, a backup shows what it does, and removes it at the end', {
  skip: !isInstalled('script', '--version') && 'the program `script` is not installed',
}, async () => {
  await using home = await openFolder()
  const { dir: cwd } = home
  assert.equal((await runCommand(['keys', 'create', '--name', 'x', '--plan', 'free'], { cwd })).code, 0)
  const line = `'${process.execPath}' '${launcher}' backup copy`
  const { status, stdout } = spawnSync('script', ['-qfec', line, '/dev/null'], {
    ...{ cwd, env: { ...commandEnv(), NO_COLOR: '1' }, encoding: 'utf8', timeout: 120_000 },
  })
  assert.equal(status, 0, stdout)
  assert.match(stdout, /\u001b\[2KCopying the databases ….*\u001b\[2KVerifying the copy ….*\u001b\[2KBacked up into /s)
})
