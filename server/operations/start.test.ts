import assert from 'node:assert/strict'
import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { callControl } from '#runtime/control-socket.ts'
import { openLog } from '#runtime/log.ts'
import { openContext, settingsWith } from '#test/context.ts'
import { startOperations } from './start.ts'

test('a running server answers the operator’s questions, until it is told to stop', async () => {
  await using context = await openContext()
  const stop = new AbortController()
  const upkeep = startOperations(
    context,
    { dataDir: context.dir, version: '1.2.3', url: () => 'http://here' },
    stop.signal,
  )
  const answer = async (name: string, input?: unknown) => {
    for (let tries = 0; tries < 200; tries++) {
      const found = await callControl(context.dir, name, input)
      if (found) return found.result
      await new Promise((resolve) => setTimeout(resolve, 5))
    }
    return assert.fail('no control socket')
  }
  assert.deepEqual(await answer('status'), {
    pid: process.pid,
    version: '1.2.3',
    startedAt: '2026-11-15T12:00:00.000Z',
    url: 'http://here',
  })
  assert.equal(((await answer('coverage')) as { at: string }).at, '2026-11-15T12:00:00.000Z')
  const findings = (await answer('doctor', { sample: 1 })) as { name: string }[]
  assert.ok(findings.some(({ name }) => name === 'keys'))
  await assert.rejects(callControl(context.dir, 'copy', {}), /name the folder to copy into/)
  stop.abort()
  await upkeep
  assert.equal(await callControl(context.dir, 'status'), undefined)
})

test('where no socket can be made the server is told so and goes on', async () => {
  await using context = await openContext()
  const lines: string[] = []
  const dataDir = join(context.dir, 'x'.repeat(120))
  await mkdir(dataDir)
  const stop = new AbortController()
  const told = { ...context, log: openLog('info', (line) => lines.push(line)) }
  const upkeep = startOperations(told, { dataDir, version: '1' }, stop.signal)
  while (lines.length === 0) await new Promise((resolve) => setImmediate(resolve))
  assert.match(lines[0] ?? '', /too long for a socket.*there is no control socket/)
  stop.abort()
  await upkeep
})

test('limits that other servers would not know of are told once at the start', async () => {
  await using context = await openContext()
  const told = async (settings: object) => {
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
  assert.equal((await told({ store })).length, 1)
  assert.deepEqual(await told({ store, limits: 'redis://cache.test' }), [])
  assert.deepEqual(await told({}), [])
})
