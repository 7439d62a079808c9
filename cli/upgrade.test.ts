// What a real `tetrad serve` prints when it upgrades the tables of an earlier version. No released version has a second
// migration yet, so the tests add one to the process.
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { text } from 'node:stream/consumers'
import { describe, test } from 'node:test'
import { pathToFileURL } from 'node:url'
import { openStores } from '#storage/open.ts'
import { noPostgres, startPostgres } from '#test/postgres.ts'
import { commandEnv, launcher, openFolder } from '#test/run-command.ts'

const migrationsUrl = pathToFileURL(join(import.meta.dirname, '../server/storage/migrations.ts')).href

/** Starts a server of a later version, stops it when it listens, and returns what it printed for the operator. */
async function serveLaterVersion(dir: string, config: string): Promise<string> {
  const preload = join(dir, 'later-version.mjs')
  await writeFile(
    preload,
    `import { stateFileMigrations, stateMigrations } from '${migrationsUrl}'
     const later = { id: 2, name: 'later', up: () => ['create table later_version (id bigint primary key)'] }
     stateFileMigrations.push(later)
     stateMigrations.push(later)`,
  )
  await writeFile(join(dir, 'tetrad.yaml'), config)
  const child = spawn(process.execPath, [launcher, 'serve', '--data', join(dir, 'data'), '--port', '0', '--json'], {
    cwd: dir,
    env: { ...commandEnv(), HOME: dir, NODE_OPTIONS: `--import=${pathToFileURL(preload).href}` },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const printed = text(child.stderr)
  const ended = once(child, 'exit')
  const listening = once(createInterface(child.stdout), 'line')
  await Promise.race([listening, ended])
  child.kill('SIGTERM')
  await ended
  return printed
}

describe('serve with tables of an earlier version', () => {
  test('prints once where the backup from before is', async () => {
    await using home = await openFolder()
    const data = join(home.dir, 'data')
    await (await openStores(data)).close()
    const config = `log: { level: error }\n`
    const printed = await serveLaterVersion(home.dir, config)
    const [backup = 'none'] = await readdir(join(data, 'upgrade-backups')).catch(() => [])
    const place = join(data, 'upgrade-backups', backup)
    assert.equal(printed, `The data folder is upgraded now. A backup from before is in ${place}\n`)
    assert.equal(await serveLaterVersion(home.dir, config), '')
  })

  test('prints that only a dump leads back, on PostgreSQL', { skip: noPostgres }, async () => {
    await using postgres = await startPostgres()
    await using home = await openFolder()
    const url = await postgres.schema()
    await (await openStores(join(home.dir, 'data'), { state: url })).close()
    const printed = await serveLaterVersion(home.dir, `log: { level: error }\nstore: { state: '${url}' }\n`)
    assert.equal(
      printed,
      'The tables in PostgreSQL are upgraded now. Only a backup from before leads back to the earlier version.\n',
    )
  })
})
