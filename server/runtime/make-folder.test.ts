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

test('creates a folder and its parents for the owner only, and accepts existing ones', async () => {
  const dir = join(home, 'a', 'b', 'c')
  await makeFolder(dir, 0o700)
  await makeFolder(dir, 0o700)
  assert.equal((await stat(dir)).mode & 0o777, 0o700)
  assert.equal((await stat(join(home, 'a'))).mode & 0o777, 0o700)
})

test('an empty folder gets the mode; one with content or a shared one stays unchanged', async () => {
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

test('concurrent creation of the same folder succeeds', async () => {
  const dir = join(home, 'x', 'y')
  await Promise.all([makeFolder(dir, 0o700), makeFolder(dir, 0o700)])
  assert.ok(existsSync(dir))
})

test('fails on a file, below a file, at a broken link, and where the system does not allow folders', async () => {
  const file = join(home, 'file')
  const link = join(home, 'link')
  await writeFile(file, '')
  await symlink(join(home, 'nowhere', 'at', 'all'), link)
  await assert.rejects(makeFolder(file, 0o700), { code: 'ENOTDIR' })
  await assert.rejects(makeFolder(join(file, 'in'), 0o700), { code: 'ENOTDIR' })
  await assert.rejects(makeFolder(link, 0o700), { code: 'ENOENT' })
  if (existsSync('/proc/self')) await assert.rejects(makeFolder('/proc/tetrad/data', 0o700), { code: 'ENOENT' })
})
