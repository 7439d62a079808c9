import assert from 'node:assert/strict'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { startProcess } from '#test/second-process.ts'
import { lockFolder } from './folder-lock.ts'

async function createFolder(): Promise<{ dir: string } & AsyncDisposable> {
  const dir = await mkdtemp(join(tmpdir(), 'tetrad-lock-'))
  return { dir, [Symbol.asyncDispose]: () => rm(dir, { recursive: true, force: true }) }
}

const holding = (dir: string) => `
  const { lockFolder } = await load('server/storage/folder-lock.ts')
  const lock = lockFolder(${JSON.stringify(dir)})
  print('locked')
  stay()
  await new Promise(() => lock)
`

test('a second process is refused with advice until the first one has ended, also by kill -9', async () => {
  await using folder = await createFolder()
  await using other = startProcess(holding(folder.dir))
  assert.equal(await other.line(), 'locked')
  const detail = `${folder.dir} is in use by another process, probably a running server; stop it, or wait until it has ended`
  for (let tries = 0; tries < 2; tries++)
    assert.throws(() => lockFolder(folder.dir), { code: 'store.unavailable', message: `store.unavailable: ${detail}` })
  await other.kill()
  lockFolder(folder.dir)[Symbol.dispose]()
})

test('a folder can be locked once at a time, and again after it was released', async () => {
  await using folder = await createFolder()
  await using another = await createFolder()
  const lock = lockFolder(folder.dir)
  assert.throws(() => lockFolder(folder.dir), /is in use by another process/)
  lockFolder(another.dir)[Symbol.dispose]()
  lock[Symbol.dispose]()
  lockFolder(folder.dir)[Symbol.dispose]()
})

test('other errors of locking name the folder', async () => {
  await using folder = await createFolder()
  assert.throws(() => lockFolder(join(folder.dir, 'none')), /none\/lock\.sqlite/)
})
