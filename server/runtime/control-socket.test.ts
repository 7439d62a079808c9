import assert from 'node:assert/strict'
import { mkdir, mkdtemp, rm, stat, writeFile } from 'node:fs/promises'
import { request } from 'node:http'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { Fault } from '#core/fault.ts'
import { callControl, isServerRunning, startControlServer } from './control-socket.ts'

async function createFolder() {
  const dir = await mkdtemp(join(tmpdir(), 'tetrad-control-'))
  return { dir, [Symbol.asyncDispose]: () => rm(dir, { recursive: true, force: true }) }
}

test('a call returns its result, and only the owner can open the socket', async () => {
  await using folder = await createFolder()
  const control = await startControlServer(folder.dir, {
    double: async (input) => Number(input) * 2,
    nothing: async () => {},
  })
  assert.equal((await stat(join(folder.dir, 'control.sock'))).mode & 0o777, 0o600)
  assert.deepEqual(await callControl(folder.dir, 'double', 21), { result: 42 })
  assert.deepEqual(await callControl(folder.dir, 'nothing'), { result: null })
  await control.close()
})

test('errors of handlers and unknown calls are reported', async () => {
  await using folder = await createFolder()
  const control = await startControlServer(folder.dir, {
    fail: async () => {
      throw new Error('the disk is full')
    },
    huge: async () => 2n ** 70n,
    refuse: async () => {
      throw new Fault('input.invalid', { detail: 'fromDay must not be after toDay' })
    },
  })
  await assert.rejects(callControl(folder.dir, 'fail'), { name: 'ControlError', message: 'the disk is full' })
  await assert.rejects(callControl(folder.dir, 'huge'), { name: 'ControlError', message: /BigInt/ })
  // As the command would print it without a server.
  await assert.rejects(callControl(folder.dir, 'refuse'), { message: 'fromDay must not be after toDay' })
  await assert.rejects(callControl(folder.dir, 'dance'), {
    message: 'this server does not support the call dance; it may be of another version',
  })
  await assert.rejects(callControl(folder.dir, 'toString'), {
    message: 'this server does not support the call toString; it may be of another version',
  })
  await control.close()
})

test('without a server the result is undefined, also if a killed server left its socket', async () => {
  await using folder = await createFolder()
  assert.equal(await callControl(folder.dir, 'status'), undefined)
  assert.equal(await callControl(join(folder.dir, 'nowhere'), 'status'), undefined)
  const control = await startControlServer(folder.dir, { status: async () => 'first' })
  await control.close()
  // A regular file at this path, as after copying the folder.
  await writeFile(join(folder.dir, 'control.sock'), '')
  assert.equal(await callControl(folder.dir, 'status'), undefined)
  const second = await startControlServer(folder.dir, { status: async () => 'second' })
  assert.deepEqual(await callControl(folder.dir, 'status'), { result: 'second' })
  await second.close()
})

test('a server is running while its socket is open, even if it does not respond', async () => {
  await using folder = await createFolder()
  const path = join(folder.dir, 'control.sock')
  assert.equal(await isServerRunning(folder.dir), false)
  assert.equal(await isServerRunning(join(folder.dir, 'nowhere')), false)
  const mute = createServer()
  await new Promise<void>((resolve) => mute.listen(path, resolve))
  assert.equal(await isServerRunning(folder.dir), true)
  await new Promise((resolve) => mute.close(resolve))
  await writeFile(path, '')
  assert.equal(await isServerRunning(folder.dir), false)
})

test('a path that is too long is an error for the server, and means no server for a call', async () => {
  await using folder = await createFolder()
  const deep = join(folder.dir, 'd'.repeat(100))
  await mkdir(deep)
  await assert.rejects(startControlServer(deep, {}), /is too long for a socket/)
  assert.equal(await callControl(deep, 'status'), undefined)
  assert.equal(await isServerRunning(deep), false)
})

test('an input that is too long is refused', async () => {
  await using folder = await createFolder()
  let heard = 0
  const control = await startControlServer(folder.dir, { hear: async () => (heard += 1) })
  await assert.rejects(callControl(folder.dir, 'hear', 'x'.repeat(100_000)))
  assert.equal(heard, 0)
  await control.close()
})

test('only POST is accepted', async () => {
  await using folder = await createFolder()
  const control = await startControlServer(folder.dir, { status: async () => 1 })
  const status = await new Promise((resolve, reject) => {
    request({ socketPath: join(folder.dir, 'control.sock'), path: '/status' }, (response) => {
      response.resume()
      resolve(response.statusCode)
    })
      .on('error', reject)
      .end()
  })
  assert.equal(status, 404)
  await control.close()
})
