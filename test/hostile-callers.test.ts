// Many hostile requests over raw sockets: pipelined on open connections, malformed, huge, slow, and given up half-way. The
// server runs in a process of its own (hostile-callers-host.ts). Time is CPU time, so that other work on the machine does
// not matter.
import assert from 'node:assert/strict'
import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { connect } from 'node:net'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { createSeededRandom, type SeededRandom } from '#simulator/seeded-random.ts'
import type { Measurements } from './hostile-callers-host.ts'
import { drawClosing, drawRequest, type HostileRequest, lastRequest } from './hostile-requests.ts'
import { isLongRun, seedsOf } from './long.ts'
import { commandEnv } from './run-command.ts'

const requestsCount = Number(process.env.HOSTILE_REQUESTS ?? (isLongRun ? 1_000_000 : 1500))
const [seed] = seedsOf(1000, 1)
const connections = 12
const perConnection = 40
const slowConnections = 30
/** A step of the server takes at most this many times the reference work of the same process. It may include a collection of garbage. */
const stepReferencesMax = 4
/** The same for a single request, of which the fastest of several tries counts. */
const singleReferencesMax = 1
const heapGrowthMax = 24 * 1024 * 1024
/** Of the only caller, and of connections that were reset; behaviour/http.md#request-log. */
const logLinesPerMinuteMax = 210
/** Paths are cut at 2 000 characters. */
const logBytesPerLineMax = 3000
const singleTries = 3

describe('hostile callers', () => {
  let host: ChildProcess
  const ask = async (request: 'measure' | 'collect' | 'reset'): Promise<Measurements> => {
    host.send(request)
    const [reply] = await once(host, 'message')
    return reply as Measurements
  }
  before(async () => {
    const file = join(import.meta.dirname, 'hostile-callers-host.ts')
    host = fork(file, {
      execArgv: ['--expose-gc'],
      env: commandEnv(),
      stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
    })
    await once(host, 'message')
  })
  after(async () => {
    const exited = once(host, 'exit')
    host.disconnect()
    await exited
  })

  test('no request fails, blocks the server, fills its memory or writes a long log', async (t) => {
    const startMs = performance.now()
    const { url, key } = await ask('measure')
    const statuses = new Map<string, number>()
    const port = Number(new URL(url).port)
    let left = requestsCount
    /** A request after which the server closes the connection is the last one that counts. */
    const countStatuses = (text: string) => {
      for (const [, status = ''] of text.matchAll(/HTTP\/1\.1 (\d{3}) /g)) {
        statuses.set(status, (statuses.get(status) ?? 0) + 1)
        left -= 1
      }
    }
    const callUntil = async (draws: SeededRandom, until: number) => {
      while (left > until) {
        const requests: HostileRequest[] = Array.from({ length: perConnection - 1 }, () => drawRequest(draws, key))
        if (draws.happens(0.3)) requests.push(drawClosing(draws, key))
        const bytes = Buffer.concat([...requests.map((request) => request.bytes), lastRequest])
        // Some callers leave before the responses.
        if (draws.happens(0.02)) await leaveEarly(port, bytes.subarray(0, draws.whole(1, bytes.length)))
        else countStatuses(await exchange(port, bytes))
      }
    }
    const run = (part: string, until: number) =>
      Promise.all(
        Array.from({ length: connections }, (_, at) =>
          callUntil(createSeededRandom(`hostile ${seed} ${part} ${at}`), until),
        ),
      )
    // Code is compiled and caches are filled.
    await run('first', Math.floor(requestsCount * 0.75))
    const early = await ask('collect')
    await ask('reset')
    const slow = openSlowConnections(port)
    await run('second', 0)
    for (const socket of slow) socket.destroy()
    const end = await ask('measure')
    const { heapBytes, referenceMs } = await ask('collect')
    const minutes = Math.ceil((performance.now() - startMs) / 60_000) + 1
    const counts = [...statuses].sort().map(([status, times]) => `${status}: ${times}`)
    t.diagnostic(`${requestsCount} requests; ${counts.join(', ')}`)
    t.diagnostic(
      `longest step ${end.longestStepMs.toFixed(1)} ms of CPU, reference ${referenceMs.toFixed(1)} ms, ` +
        `longest delay ${end.longestDelayMs.toFixed(0)} ms; ${(end.cpuMs / requestsCount).toFixed(3)} ms of CPU per request`,
    )
    t.diagnostic(`heap ${mebibytes(early.heapBytes)} MiB, at the end ${mebibytes(heapBytes)} MiB`)
    t.diagnostic(`log: ${end.logLines} lines, ${end.logBytes} bytes`)
    assert.deepEqual(end.failures, [])
    assert.equal(statuses.get('500') ?? 0, 0)
    assert.ok((statuses.get('200') ?? 0) > 0)
    assertShort(end.longestStepMs, stepReferencesMax * referenceMs, 'a step')
    assert.ok(heapBytes - early.heapBytes < heapGrowthMax, `heap ${early.heapBytes} → ${heapBytes}`)
    assert.ok(end.logLines <= minutes * logLinesPerMinuteMax, `${end.logLines} lines of log`)
    assert.ok(end.logBytes <= end.logLines * logBytesPerLineMax, `${end.logBytes} bytes of log`)
  })

  test('no single request without a key takes long', async (t) => {
    const { url } = await ask('measure')
    const port = Number(new URL(url).port)
    const draws = createSeededRandom(`single ${seed}`)
    let worst = { name: '', cpuMs: 0, start: '' }
    for (let at = 0; at < (isLongRun ? 2000 : 60); at++) {
      const { name, bytes } = at % 3 === 0 ? drawClosing(draws, 'none') : drawRequest(draws, 'none')
      let cpuMs = Number.POSITIVE_INFINITY
      for (let tries = 0; tries < singleTries; tries++) {
        const before = (await ask('measure')).cpuMs
        await exchange(port, Buffer.concat([bytes, lastRequest]))
        cpuMs = Math.min(cpuMs, (await ask('measure')).cpuMs - before)
      }
      if (cpuMs > worst.cpuMs) worst = { name, cpuMs, start: bytes.subarray(0, 80).toString('latin1') }
    }
    const { referenceMs } = await ask('collect')
    const label = `${worst.name}: ${JSON.stringify(worst.start)}`
    t.diagnostic(`worst: ${worst.cpuMs.toFixed(1)} ms of CPU, reference ${referenceMs.toFixed(1)} ms: ${label}`)
    assertShort(worst.cpuMs, singleReferencesMax * referenceMs, label)
  })
})

function assertShort(cpuMs: number, limitMs: number, label: string): void {
  assert.ok(cpuMs < limitMs, `${label} took ${cpuMs} ms of CPU, at most ${limitMs} ms are allowed`)
}

const mebibytes = (bytes: number): string => (bytes / 2 ** 20).toFixed(1)

/** Sends all bytes and returns everything that is received until the connection closes. */
function exchange(port: number, bytes: Buffer): Promise<string> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1')
    const received: string[] = []
    socket.setEncoding('latin1')
    socket.on('data', (chunk: string) => received.push(chunk))
    // The server may close the connection before it has read everything.
    socket.on('error', () => {})
    socket.on('close', () => resolve(received.join('')))
    // No more bytes follow, so the server need not wait for the rest of an unfinished request.
    socket.end(bytes)
  })
}

async function leaveEarly(port: number, bytes: Buffer): Promise<void> {
  const socket = connect(port, '127.0.0.1')
  socket.on('error', () => {})
  await once(socket, 'connect')
  await new Promise((resolve) => socket.write(bytes, resolve))
  socket.destroy()
}

/** Callers that begin a request and never finish it. */
const openSlowConnections = (port: number) =>
  Array.from({ length: slowConnections }, (_, at) => {
    const socket = connect(port, '127.0.0.1')
    socket.on('error', () => {})
    socket.write(
      at % 2 === 0 ? 'GET /healthz HTTP/1.1\r\nhost: a\r\nx: ' : 'POST /v2/api HTTP/1.1\r\ncontent-length: 99\r\n\r\nm',
    )
    const timer = setInterval(() => socket.write('a'), 100)
    socket.on('close', () => clearInterval(timer))
    return socket
  })
