import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Fault } from '#core/fault.ts'
import { nextEventLoopTurn } from '#runtime/clock.ts'
import { ManualClock } from '#test/manual-clock.ts'
import { CallerQueue } from './caller-queue.ts'

/** Ends also if the call waits, so that a test of a refusal fails instead of hanging. */
const nowOrNever = (call: Promise<unknown>) => Promise.race([call, nextEventLoopTurn()])

function open() {
  const refusal = () => new Fault('fx.checks_full', { retryAfterMs: 1 })
  const queue = new CallerQueue({ runningMax: 2, waitingMax: 3, refusal })
  const running = new Map<string, () => void>()
  const run = (caller: string, name: string, signal?: AbortSignal) => {
    const work = () => new Promise<string>((resolve) => running.set(name, () => resolve(name)))
    return queue.run(caller, work, signal)
  }
  const end = async (name: string) => {
    running.get(name)?.()
    running.delete(name)
    await nextEventLoopTurn()
  }
  return { run, end, names: () => [...running.keys()] }
}

test('two calls run at a time, one per caller, in order; a caller who waits for itself does not hold up others', async () => {
  const { run, end, names } = open()
  const all = [run('a', 'a1'), run('a', 'a2'), run('b', 'b1'), run('c', 'c1')]
  assert.deepEqual(names(), ['a1', 'b1'])
  await end('b1')
  assert.deepEqual(names(), ['a1', 'c1'])
  await end('a1')
  assert.deepEqual(names(), ['c1', 'a2'])
  await end('c1')
  await end('a2')
  assert.deepEqual(await Promise.all(all), ['a1', 'a2', 'b1', 'c1'])
})

test('beyond the queue, calls are refused; a caller who leaves makes room', async () => {
  const { run, end, names } = open()
  const leaving = new AbortController()
  const running = [run('a', 'a1'), run('b', 'b1')]
  const waiting = [run('c', 'c1', leaving.signal), run('d', 'd1'), run('e', 'e1')]
  await assert.rejects(nowOrNever(run('f', 'f1')), { code: 'fx.checks_full', status: 429 })
  leaving.abort(new Error('left'))
  await assert.rejects(waiting[0] as Promise<string>, /left/)
  const late = run('f', 'f1')
  await end('a1')
  assert.deepEqual(names(), ['b1', 'd1'])
  for (const name of ['b1', 'd1', 'e1', 'f1']) await end(name)
  await Promise.all([...running, ...waiting.slice(1), late])
  await assert.rejects(run('g', 'g1', leaving.signal), /left/)
  assert.deepEqual(names(), [])
})

test('a caller rests for as long as its work took, if that was long; others do not wait for it', async () => {
  const clock = new ManualClock(0)
  const refusal = () => new Fault('fx.checks_full', { retryAfterMs: 1 })
  const queue = new CallerQueue({ runningMax: 1, waitingMax: 3, rest: { clock, restFromMs: 50 }, refusal })
  const started: string[] = []
  const run = (caller: string, tookMs: number) =>
    queue.run(caller, async () => {
      started.push(caller)
      clock.advance(tookMs)
    })
  await run('short', 49)
  await run('short', 49)
  await run('long', 1000)
  const again = run('long', 0)
  await run('other', 0)
  clock.advance(999)
  await nextEventLoopTurn()
  assert.deepEqual(started, ['short', 'short', 'long', 'other'])
  clock.advance(1)
  await again
  assert.deepEqual(started, ['short', 'short', 'long', 'other', 'long'])
})

test('work that fails gives its place to the next', async () => {
  const queue = new CallerQueue({ runningMax: 1, waitingMax: 1, refusal: () => new Fault('fx.checks_full') })
  const failing = queue.run('a', async () => {
    throw new Error('broken')
  })
  const next = queue.run('b', async () => 'done')
  await assert.rejects(failing, /broken/)
  assert.equal(await next, 'done')
})
