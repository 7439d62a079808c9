import assert from 'node:assert/strict'
import { existsSync } from 'node:fs'
import { chmod, mkdir, mkdtemp, rm, stat, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { makeFolder } from './make-folder.ts'

let home = ''
before(async () => {
  home = await mkdtemp(join(tmpdir(), 'tetrad-folder-'))
})
after(() => rm(home, { recursive: true, force: true }))

test('a folder and those above it are made for the owner only, and once is enough', async () => {
  const dir = join(home, 'a', 'b', 'c')
  await makeFolder(dir, 0o700)
  await makeFolder(dir, 0o700)
  assert.equal((await stat(dir)).mode & 0o777, 0o700)
  assert.equal((await stat(join(home, 'a'))).mode & 0o777, 0o700)
})

test('one that is there and empty is closed to others as well; one with something in it, or shared, is left as it is', async () => {
  const modeAfter = async (name: string, mode: number, prepare: (dir: string) => Promise<void> = async () => {}) => {
    const dir = join(home, name)
    await mkdir(dir)
    await chmod(dir, mode)
    await prepare(dir)
    await makeFolder(dir, 0o700)
    return ((await stat(dir)).mode & 0o1777).toString(8)
  }
  assert.equal(await modeAfter('empty', 0o755), '700')
  assert.equal(await modeAfter('used', 0o755, (dir) => writeFile(join(dir, 'mine'), '')), '755')
  assert.equal(await modeAfter('shared', 0o1777), '1777')
})

test('two that make the same folder at the same time both have it', async () => {
  const dir = join(home, 'x', 'y')
  await Promise.all([makeFolder(dir, 0o700), makeFolder(dir, 0o700)])
  assert.ok(existsSync(dir))
})

test('where none can be made it fails: on a file, behind one, behind a link to nowhere, where the system allows none', async () => {
  const file = join(home, 'file')
  const link = join(home, 'link')
  await writeFile(file, '')
  await symlink(join(home, 'nowhere', 'at', 'all'), link)
  await assert.rejects(makeFolder(file, 0o700), { code: 'ENOTDIR' })
  await assert.rejects(makeFolder(join(file, 'in'), 0o700), { code: 'ENOTDIR' })
  await assert.rejects(makeFolder(link, 0o700), { code: 'ENOENT' })
  if (existsSync('/proc/self')) await assert.rejects(makeFolder('/proc/tetrad/data', 0o700), { code: 'ENOENT' })
})
