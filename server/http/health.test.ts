import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { nextEventLoopTurn, systemClock } from '#runtime/clock.ts'
import { openLog, silentLog } from '#runtime/log.ts'
import { startServer } from '#server/app.ts'
import { addCoverage } from '#storage/coverage.ts'
import { WriteHealth } from '#storage/write-health.ts'
import { openContext, settingsWith } from '#test/context.ts'
import { inject } from '#test/inject.ts'
import { ManualClock } from '#test/manual-clock.ts'
import { noRedis, startRedis } from '#test/redis.ts'
import { startProcess } from '#test/second-process.ts'
import { noTinyDisk, tinyDisk } from '#test/tiny-disk.ts'
import { createHealthMonitor, type Finding, findingsOf, oncePerSecond, storeChecks } from './health.ts'

function openWatch() {
  const clock = new ManualClock(0)
  const lines: string[] = []
  return { clock, lines, watch: createHealthMonitor({ clock, log: openLog('error', (line) => lines.push(line)) }) }
}

const finding = (name: string) => [{ name, ok: true, message: 'readable and writable' }]
const silent = { name: 'hung', ok: false, message: 'check failed; see the log' }

describe('createHealthMonitor', () => {
  test('waits five seconds for a check that hangs, and reports the others', async () => {
    const { clock, watch } = openWatch()
    const parts = { well: async () => finding('well'), hung: () => new Promise<never>(() => {}) }
    const findings = findingsOf(watch, parts)
    await nextEventLoopTurn()
    clock.advance(5000)
    assert.deepEqual(await findings, [...finding('well'), silent])
  })

  test('does not start a check again while it is running', async () => {
    const { clock, watch } = openWatch()
    let started = 0
    let finish = (_: object) => {}
    const ask = () =>
      watch('slow', () => {
        started += 1
        return new Promise<object>((resolve) => {
          finish = resolve
        })
      })
    const first = ask()
    clock.advance(5000)
    assert.equal(await first, undefined)
    const second = ask()
    finish({ late: true })
    assert.deepEqual(await second, { late: true })
    assert.equal(started, 1)
    const third = ask()
    finish({ again: true })
    assert.deepEqual([await third, started], [{ again: true }, 2])
  })

  test('logs a failing check once a minute', async () => {
    const { clock, lines, watch } = openWatch()
    const fail = () => watch('broken', () => Promise.reject(new Error('no such luck')))
    for (let times = 0; times < 5; times += 1) assert.equal(await fail(), undefined)
    await watch('another', () => Promise.reject(new Error('no luck either')))
    assert.equal(lines.length, 2)
    assert.match(lines[0] ?? '', /broken.*no such luck/)
    clock.advance(60_000)
    await fail()
    assert.equal(lines.length, 3)
  })
})

test('oncePerSecond runs the work once a second, shares running work, and does not keep failures', async () => {
  const clock = new ManualClock(0)
  let runs = 0
  let ready = Promise.withResolvers<number>()
  const ask = oncePerSecond(clock, () => {
    runs += 1
    return ready.promise
  })
  const both = Promise.all([ask(), ask()])
  clock.advance(5000)
  const third = ask()
  ready.resolve(7)
  assert.deepEqual([await both, await third, runs], [[7, 7], 7, 1])
  clock.advance(999)
  await ask()
  assert.equal(runs, 1)
  clock.advance(1)
  ready = Promise.withResolvers()
  ready.reject(new Error('broken'))
  await assert.rejects(ask())
  await assert.rejects(ask())
  assert.equal(runs, 3)
})

test('/readyz and /metrics query the databases at most once a second', async () => {
  await using context = await openContext()
  let tickMs = 0
  const clock = { ...systemClock, monotonicMs: () => tickMs }
  const settings = settingsWith({ server: { port: 0 }, console: { enabled: false } })
  const server = await startServer({ settings, dataDir: `${context.dir}/own`, log: silentLog, clock })
  try {
    const ask = async (path: string) => (await inject(server, path)).body
    assert.match(await ask('/readyz'), /"status":"ready"/)
    assert.match(await ask('/metrics'), /^tetrad_ready 1$/m)
    await server.context.state.close()
    tickMs = 999
    assert.match(await ask('/readyz'), /"status":"ready"/)
    assert.match(await ask('/metrics'), /^tetrad_ready 1$/m)
    tickMs = 1000
    assert.match(await ask('/readyz'), /"status":"not ready"/)
    assert.match(await ask('/metrics'), /^tetrad_ready 0$/m)
  } finally {
    await server.close()
  }
})

test('checks of the databases run concurrently with other queries', async () => {
  await using context = await openContext()
  const full = () => Promise.reject(new Error('too many are waiting'))
  const duties = { ...context.duties, query: full }
  assert.deepEqual(
    await findingsOf(createHealthMonitor(context), storeChecks({ ...context, duties }, new WriteHealth(context.clock))),
    [...finding('state store'), ...finding('ingest store'), ...finding('duties store')],
  )
})

test('while the state database does not respond, /readyz reports it and /metrics omits its data', async () => {
  await using context = await openContext()
  let laterMs = 0
  const clock = { ...systemClock, monotonicMs: () => systemClock.monotonicMs() + laterMs }
  const chain = { id: '5', name: 'five', rpc: [] }
  const settings = settingsWith({ server: { port: 0 }, explorer: { chains: [chain] } })
  const server = await startServer({ settings, dataDir: `${context.dir}/own`, log: silentLog, clock })
  try {
    await server.context.ingest.write((tx) => addCoverage(tx, 'explorer/blocks/5', 0, 10))
    // A coverage report is shared for a second.
    laterMs = 1000
    const before = (await inject(server, '/metrics')).body
    assert.match(before, /^tetrad_ready 1$/m)
    assert.match(before, /^tetrad_stream_gaps\{/m)
    await server.context.state.close()
    laterMs = 2000
    const { statusCode, body } = await inject(server, '/metrics')
    assert.equal(statusCode, 200)
    assert.match(body, /^tetrad_ready 0$/m)
    assert.match(body, /^tetrad_requests_total\{/m)
    assert.doesNotMatch(body, /^tetrad_stream_gaps\{/m)
    const ready = await inject(server, '/readyz')
    assert.equal(ready.statusCode, 503)
    assert.deepEqual(
      ready
        .json()
        .checks.filter(({ ok }: { ok: boolean }) => !ok)
        .map(({ name }: { name: string }) => name)
        .slice(0, 1),
      ['state store'],
    )
  } finally {
    await server.close()
  }
})

/** A server whose disk becomes full and is freed again, and its readiness each time. */
const onTinyDisk = (dir: string) => `
  const { writeFile, rm } = await import('node:fs/promises')
  const { startServer } = await load('./server/app.ts')
  const { settingsWith } = await load('./test/context.ts')
  const { inject } = await load('./test/inject.ts')
  const { systemClock } = await load('./server/runtime/clock.ts')
  const { silentLog } = await load('./server/runtime/log.ts')
  let laterMs = 0
  const clock = { ...systemClock, monotonicMs: () => systemClock.monotonicMs() + laterMs }
  const server = await startServer({ settings: settingsWith({ server: { port: 0 } }), dataDir: '${dir}/data', log: silentLog, clock })
  const report = async () => {
    laterMs += 1000
    const ready = await inject(server, '/readyz')
    const { ok, message } = ready.json().checks.find(({ name }) => name === 'state store')
    const [gauge] = /^tetrad_ready .$/m.exec((await inject(server, '/metrics')).body)
    print([ready.statusCode, ok, message, gauge].join('|'))
  }
  const write = () => server.context.state.write((tx) => tx.run("insert into cursors (stream, at) values (?, 1)", crypto.randomUUID().repeat(9000)))
  await report()
  for (let part = 0, full = false; !full; part += 1) await writeFile('${dir}/' + part, Buffer.alloc(2 ** 18)).catch(() => { full = true })
  await write().catch((error) => print(error.message))
  await report()
  laterMs += 5000
  await report()
  await rm('${dir}/0')
  await rm('${dir}/1')
  await report()
  laterMs += 5000
  await report()
  await write().then(() => print('written'))
  await server.close()
`

test('the server is not ready with a full disk, and ready again after a successful write', {
  skip: noTinyDisk,
}, async () => {
  await using context = await openContext()
  await using other = startProcess(onTinyDisk(context.dir), tinyDisk(context.dir, 16))
  const green = '200|true|readable and writable|tetrad_ready 1'
  const red = /^503\|false\|readable, but writes have failed since \d{4}-[^|]+Z; see the log\|tetrad_ready 0$/
  assert.equal(await other.line(), green)
  assert.match((await other.line()) ?? '', /state\.sqlite cannot grow because the disk is full/)
  assert.match((await other.line()) ?? '', red)
  assert.match((await other.line()) ?? '', red, 'the test write fails as well')
  assert.match((await other.line()) ?? '', red, 'no test write so soon')
  assert.equal(await other.line(), green)
  assert.equal(await other.line(), 'written')
})

test('while Redis does not respond, /readyz reports it and stays ready', { skip: noRedis }, async () => {
  await using redis = await startRedis()
  await using context = await openContext()
  const settings = settingsWith({ server: { port: 0 }, console: { enabled: false }, limits: redis.url })
  const server = await startServer({ settings, dataDir: `${context.dir}/own`, log: silentLog })
  /** Waits until /readyz returns this. The connection is checked in the background. */
  const reported = async (ok: boolean): Promise<Finding | undefined> => {
    for (let tries = 0; tries < 1000; tries++) {
      const { statusCode, body } = await inject(server, '/readyz')
      assert.equal(statusCode, 200)
      const { checks } = JSON.parse(body) as { checks: Finding[] }
      const check = checks.find(({ name }) => name === 'limits in Redis')
      if (check?.ok === ok) return check
      await systemClock.sleep(50)
    }
    return undefined
  }
  try {
    const shared = { name: 'limits in Redis', ok: true, message: 'reachable', required: false }
    assert.deepEqual(await reported(true), shared)
    await redis.kill()
    const message = 'Redis does not respond: endpoints with their own limit refuse calls; see the log'
    assert.deepEqual(await reported(false), { ...shared, ok: false, message })
    await redis.start()
    assert.deepEqual(await reported(true), shared)
  } finally {
    await server.close()
  }
})
