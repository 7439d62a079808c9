// What npm prints during an installation: nothing that you cannot act on.
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { copyFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { openFolder } from './run-command.ts'

test('a package for another Node causes no warning', async () => {
  await using folder = await openFolder()
  const devDependencies = { 'for-another-node': '1.0.0' }
  const root = { name: 'app', version: '1.0.0', devDependencies }
  const needed = { version: '1.0.0', dev: true, engines: { node: '>=999' } }
  const packages = { '': root, 'node_modules/for-another-node': needed }
  await writeFile(join(folder.dir, 'package.json'), JSON.stringify(root))
  await writeFile(join(folder.dir, 'package-lock.json'), JSON.stringify({ ...root, lockfileVersion: 3, packages }))
  const install = () =>
    spawnSync('npm', ['ci', '--dry-run', '--offline', '--ignore-scripts'], {
      cwd: folder.dir,
      env: { PATH: process.env.PATH, HOME: folder.dir },
      encoding: 'utf8',
    })
  assert.match(install().stderr, /EBADENGINE/, 'by default')
  await copyFile(new URL('../.npmrc', import.meta.url), join(folder.dir, '.npmrc'))
  const { status, stderr } = install()
  assert.deepEqual([status, stderr], [0, ''])
})
