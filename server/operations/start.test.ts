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
  const stop = new AbortController()
  const operations = startOperations(
    context,
    { dataDir: context.dir, version: '1.2.3', url: () => 'http://here' },
    stop.signal,
  )
  const request = async (name: string, input?: unknown) => {
    for (let tries = 0; tries < 200; tries++) {
      const reply = await callControl(context.dir, name, input)
      if (reply) return reply.result
      await new Promise((resolve) => setTimeout(resolve, 5))
    }
    return assert.fail('no control socket')
  }
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
  stop.abort()
  await operations
  assert.equal(await callControl(context.dir, 'status'), undefined)
})

test('if the control socket cannot be opened, the server logs it and continues', async () => {
  await using context = await openContext()
  const lines: string[] = []
  const dataDir = join(context.dir, 'x'.repeat(120))
  await mkdir(dataDir)
  const stop = new AbortController()
  const logging = { ...context, log: openLog('info', (line) => lines.push(line)) }
  const operations = startOperations(logging, { dataDir, version: '1' }, stop.signal)
  while (lines.length === 0) await new Promise((resolve) => setImmediate(resolve))
  assert.match(lines[0] ?? '', /too long for a socket.*cannot open the control socket/)
  stop.abort()
  await operations
})

test('limits that are not shared are logged once at the start', async () => {
  await using context = await openContext()
  const warnings = async (settings: object) => {
    const lines: string[] = []
    const log = openLog('info', (line) => lines.push(line))
    const ended = AbortSignal.abort()
    await startOperations(
      { ...context, log, settings: settingsWith(settings) },
      { dataDir: context.dir, version: '1' },
      ended,
    )
    return lines.filter((line) => line.includes('limits: each server'))
  }
  const store = { state: 'postgres://db.test/tetrad' }
  assert.equal((await warnings({ store })).length, 1)
  assert.deepEqual(await warnings({ store, limits: 'redis://cache.test' }), [])
  assert.deepEqual(await warnings({}), [])
})
