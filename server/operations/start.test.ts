import assert from 'node:assert/strict'
import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { callControl } from '#runtime/control-socket.ts'
import { openLog } from '#runtime/log.ts'
import { openContext, settingsWith } from '#test/context.ts'
import { startOperations } from './start.ts'

test('a running server answers control requests until it is stopped', async () => {
  await using context = await openContext()
  const operations = await startOperations(context, {
    dataDir: context.dir,
    version: '1.2.3',
    url: () => 'http://here',
  })
  const request = async (name: string, input?: unknown) => (await callControl(context.dir, name, input))?.result
  assert.deepEqual(await request('status'), {
    pid: process.pid,
    version: '1.2.3',
    startedAt: '2026-11-15T12:00:00.000Z',
    url: 'http://here',
  })
  assert.equal(((await request('coverage')) as { at: string }).at, '2026-11-15T12:00:00.000Z')
  const findings = (await request('doctor', { sample: 1 })) as { name: string }[]
  assert.ok(findings.some(({ name }) => name === 'keys'))
  await assert.rejects(callControl(context.dir, 'copyStores', {}), /dir must be the folder to copy into/)
  await operations[Symbol.asyncDispose]()
  assert.equal(await callControl(context.dir, 'status'), undefined)
})

test('if the control socket cannot be opened, the server logs it and continues', async () => {
  await using context = await openContext()
  const lines: string[] = []
  const dataDir = join(context.dir, 'x'.repeat(120))
  await mkdir(dataDir)
  const logging = { ...context, log: openLog('info', (line) => lines.push(line)) }
  await using _operations = await startOperations(logging, { dataDir, version: '1' })
  assert.match(lines[0] ?? '', /too long for a socket.*cannot open the control socket/)
})

test('limits that are not shared are logged once at the start', async () => {
  await using context = await openContext()
  const warnings = async (settings: object) => {
    const lines: string[] = []
    const log = openLog('info', (line) => lines.push(line))
    await using _operations = await startOperations(
      { ...context, log, settings: settingsWith(settings) },
      { dataDir: context.dir, version: '1' },
    )
    return lines.filter((line) => line.includes('limits: each server'))
  }
  const store = { state: 'postgres://db.test/tetrad' }
  assert.equal((await warnings({ store })).length, 1)
  assert.deepEqual(await warnings({ store, limits: 'redis://cache.test' }), [])
  assert.deepEqual(await warnings({}), [])
})
