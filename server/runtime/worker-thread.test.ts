// Tests calls on a worker thread: results, errors, aborting, and a thread that dies or is idle.
import assert from 'node:assert/strict'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { getPriority, tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { setTimeout } from 'node:timers/promises'
import { pathToFileURL } from 'node:url'
import { Worker } from 'node:worker_threads'
import { Fault } from '#core/fault.ts'
import { openThread, type ThreadOptions, type WorkerThread } from './worker-thread.ts'

const moduleUrl = new URL('./worker-thread.ts', import.meta.url).href
const faultFile = new URL('../core/fault.ts', import.meta.url).href
const code = `
  import { serveThread, threadStart } from ${JSON.stringify(moduleUrl)}
  import { Fault } from ${JSON.stringify(faultFile)}
  import { readFileSync } from 'node:fs'
  let calls = 0
  let isHolding = false
  const kept = new Float64Array(4)
  serveThread({
    add: async ({ a, b }) => ({ value: a + b + threadStart().more }),
    count: async () => ({ value: ++calls }),
    hold: async (is) => { isHolding = is; return { value: undefined } },
    column: async () => { const column = Float64Array.of(1, 2, 3); return { value: { column }, transfer: [column.buffer] } },
    gone: async () => { const value = kept; try { return { value, transfer: [kept.buffer] } } finally { setTimeout(() => {}, 0) } },
    left: async () => ({ value: kept.length }),
    fail: async () => { throw Object.assign(new TypeError('no such thing'), { name: 'OddError' }) },
    refuse: async () => { throw new Fault('store.unavailable', { message: 'not now', detail: 'the file is busy', retryAfterMs: 500, textValues: { limit: 5 }, headers: { 'x-tetrad-coverage': 'none' }, cause: new Error('SQLITE_BUSY') }) },
    refuseShortly: async () => { throw new Fault('record.not_found') },
    take: async ({ column }) => ({ value: column.length }),
    wait: (_, signal) => new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason))),
    die: async () => process.exit(3),
    options: async () => ({ value: process.execArgv }),
    // The 19th field of the statistics, counted after the name in parentheses.
    nice: async () => ({ value: Number(readFileSync('/proc/thread-self/stat', 'utf8').split(') ')[1].split(' ')[16]) }),
    signalWhenSent: async ({ sent }) => {
      setImmediate(() => { Atomics.store(sent, 0, 1); Atomics.notify(sent, 0) })
      return { value: 'sent' }
    },
  }, () => isHolding)
`

async function open(options: ThreadOptions = {}): Promise<WorkerThread & AsyncDisposable> {
  const dir = await mkdtemp(join(tmpdir(), 'tetrad-thread-'))
  const file = join(dir, 'thread.ts')
  await writeFile(file, code)
  const thread = openThread(pathToFileURL(file), { more: 100 }, options)
  return {
    ...thread,
    async [Symbol.asyncDispose]() {
      await thread.close()
      await rm(dir, { recursive: true, force: true })
    },
  }
}

test('buffers of results are transferred', async () => {
  await using thread = await open()
  assert.equal(await thread.call('add', { a: 1, b: 2 }), 103)
  assert.deepEqual(await thread.call('column', undefined), { column: Float64Array.of(1, 2, 3) })
  assert.deepEqual(await thread.call('gone', undefined), new Float64Array(4))
  assert.equal(await thread.call('left', undefined), 0)
})

test('errors keep name and message; unknown calls are errors', async () => {
  await using thread = await open()
  await assert.rejects(thread.call('fail', undefined), { name: 'OddError', message: 'no such thing' })
  await assert.rejects(thread.call('dance', undefined), { message: 'this thread has no handler for dance' })
})

test('faults stay faults, with everything that callers see', async () => {
  await using thread = await open()
  const fault = await thread.call('refuse', undefined).catch((error: unknown) => error)
  assert.ok(fault instanceof Fault)
  const { code, publicMessage, message, retryAfterMs, textValues, headers } = fault
  assert.deepEqual(
    { code, publicMessage, message, retryAfterMs, textValues, headers },
    {
      code: 'store.unavailable',
      publicMessage: 'not now',
      message: 'store.unavailable: the file is busy',
      retryAfterMs: 500,
      textValues: { limit: 5 },
      headers: { 'x-tetrad-coverage': 'none' },
    },
  )
  // The cause shows whether the database failed (server/storage/write-health.ts).
  assert.match(String(fault.cause), /the file is busy/)
  const short = await thread.call('refuseShortly', undefined).catch((error: unknown) => error)
  assert.ok(short instanceof Fault)
  assert.deepEqual([short.message, short.cause], [new Fault('record.not_found').message, undefined])
})

test('buffers of inputs are transferred on request, and copied otherwise', async () => {
  await using thread = await open()
  const column = Float64Array.of(1, 2, 3)
  assert.equal(await thread.call('take', { column }), 3)
  assert.equal(column.length, 3)
  assert.equal(await thread.call('take', { column }, undefined, [column.buffer]), 3)
  assert.equal(column.length, 0)
})

test('an aborted call ends, and the thread continues', async () => {
  await using thread = await open()
  const stop = new AbortController()
  const waiting = thread.call('wait', undefined, stop.signal)
  assert.equal(await thread.call('count', undefined), 1)
  stop.abort()
  await assert.rejects(waiting, /aborted/)
  await assert.rejects(thread.call('count', undefined, stop.signal), { name: 'AbortError' })
  assert.equal(await thread.call('count', undefined), 2)
})

test('calls fail if the thread dies, and the next call starts a new one', async () => {
  await using thread = await open()
  assert.equal(await thread.call('count', undefined), 1)
  const waiting = thread.call('wait', undefined)
  await assert.rejects(thread.call('die', undefined), /ended with code 3/)
  await assert.rejects(waiting, /ended with code 3/)
  assert.equal(await thread.call('count', undefined), 1)
})

test('an idle thread ends, and the next call starts a new one', async () => {
  await using thread = await open({ idleMs: 1 })
  assert.equal(await thread.call('count', undefined), 1)
  await untilEnded(thread)
})

test('a call whose input cannot be cloned fails, and the thread can still become idle', async () => {
  await using thread = await open({ idleMs: 1 })
  assert.equal(await thread.call('count', undefined), 1)
  await assert.rejects(thread.call('add', { a: () => 1, b: 2 }), { name: 'DataCloneError' })
  await untilEnded(thread)
})

/** Each thread counts its calls from one. */
async function untilEnded(thread: WorkerThread): Promise<void> {
  do await setTimeout(20)
  while (Number(await thread.call('count', undefined)) > 1)
}

test('a thread with a running call is not idle', async () => {
  await using thread = await open({ idleMs: 1 })
  const stop = new AbortController()
  const waiting = thread.call('wait', undefined, stop.signal)
  for (const count of [1, 2, 3]) {
    assert.equal(await thread.call('count', undefined), count)
    await setTimeout(20)
  }
  stop.abort()
  await assert.rejects(waiting, /aborted/)
})

test('a thread that holds state does not end, not after an error either', async () => {
  await using thread = await open({ idleMs: 1 })
  await thread.call('hold', true)
  for (const count of [1, 2, 3]) {
    assert.equal(await thread.call('count', undefined), count)
    await assert.rejects(thread.call('fail', undefined))
    await setTimeout(20)
  }
  await thread.call('hold', false)
  await untilEnded(thread)
})

test('closing fails running calls', async () => {
  await using thread = await open()
  const waiting = thread.call('wait', undefined)
  const failed = assert.rejects(waiting, /was closed/)
  await thread.close()
  await failed
})

// Without a reference the process could end while close() still waits: exit code 13, unsettled top-level await.
test('a reply that arrives while the thread closes does not drop the reference to it', async (t) => {
  await using thread = await open()
  assert.equal(await thread.call('count', undefined), 1)
  const sent = new Int32Array(new SharedArrayBuffer(4))
  const failed = assert.rejects(thread.call('signalWhenSent', { sent }), /was closed/)
  Atomics.wait(sent, 0, 0) // blocks this thread, so the reply is in the queue but not read
  const unref = t.mock.method(Worker.prototype, 'unref')
  await thread.close()
  await failed
  assert.equal(unref.mock.callCount(), 0)
})

test('a background thread has a lower priority than the others', async (t) => {
  if (process.platform !== 'linux') return t.skip('threads have no priority of their own')
  await using usual = await open()
  await using background = await open({ isBackground: true })
  const mainPriority = getPriority()
  assert.equal(await usual.call('nice', undefined), mainPriority)
  assert.equal(await background.call('nice', undefined), Math.min(19, mainPriority + 10))
})

test('a thread gets the options of Node that the process has now, or inherits them if some are not for threads', async () => {
  const before = [...process.execArgv]
  const readOptions = async () => {
    await using thread = await open()
    return (await thread.call('options', undefined)) as string[]
  }
  try {
    process.execArgv.splice(0, before.length, '--import', 'data:text/javascript,')
    assert.deepEqual(await readOptions(), ['--import', 'data:text/javascript,'])
    process.execArgv.push('--max-old-space-size=512')
    assert.ok(!(await readOptions()).includes('data:text/javascript,'))
  } finally {
    process.execArgv.splice(0, process.execArgv.length, ...before)
  }
})
