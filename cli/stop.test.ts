import assert from 'node:assert/strict'
import { afterEach, describe, test } from 'node:test'
import { ManualClock } from '#test/manual-clock.ts'
import { reportInterrupts, untilStopped } from './stop.ts'

const nowMs = Date.UTC(2026, 10, 15, 12)

describe('signals', () => {
  afterEach(() => {
    for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.removeAllListeners(signal)
  })
  const send = (signal: 'SIGINT' | 'SIGTERM' | 'SIGHUP') => process.emit(signal, signal)

  test('the first signal closes the server; a second one within half a second is ignored', async (t) => {
    const exit = t.mock.method(process, 'exit', () => undefined as never)
    const clock = new ManualClock(nowMs)
    let closed = 0
    const stopped = untilStopped(clock, async () => {
      closed++
    })
    send('SIGINT')
    clock.advance(100)
    send('SIGINT')
    await stopped
    assert.deepEqual([closed, exit.mock.callCount()], [1, 0])
  })

  test('on a terminal, the first signal says that the command stops, and how to end it at once', async () => {
    const clock = new ManualClock(nowMs)
    const shown: string[] = []
    const stopped = untilStopped(clock, async () => {}, {
      isOnTerminal: () => true,
      announce: (text) => shown.push(text),
    })
    send('SIGINT')
    send('SIGINT')
    await stopped
    assert.deepEqual(shown, ['Stopping. Press Ctrl-C again to end at once.'])
    for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.removeAllListeners(signal)
    const silent = untilStopped(clock, async () => {}, {
      isOnTerminal: () => false,
      announce: (text) => shown.push(text),
    })
    send('SIGTERM')
    await silent
    assert.equal(shown.length, 1)
  })

  test('Ctrl-C in a command without its own handling is reported, and ends it as the signal does', (t) => {
    const kill = t.mock.method(process, 'kill', () => true)
    const shown: string[] = []
    reportInterrupts((text) => shown.push(text))
    send('SIGINT')
    assert.deepEqual([shown, kill.mock.calls[0]?.arguments], [['Interrupted.'], [process.pid, 'SIGINT']])
    assert.equal(process.listenerCount('SIGINT'), 0)
  })

  test('Ctrl-C in a command that stops by itself is not reported twice', async (t) => {
    const kill = t.mock.method(process, 'kill', () => true)
    const shown: string[] = []
    reportInterrupts((text) => shown.push(text))
    const stopped = untilStopped(new ManualClock(nowMs), async () => {})
    send('SIGINT')
    await stopped
    assert.deepEqual([shown, kill.mock.callCount()], [[], 0])
  })

  test('a later second signal ends the process', (t) => {
    const exit = t.mock.method(process, 'exit', () => undefined as never)
    const clock = new ManualClock(nowMs)
    void untilStopped(clock, () => new Promise(() => {}))
    send('SIGTERM')
    clock.advance(501)
    send('SIGINT')
    assert.deepEqual(exit.mock.calls[0]?.arguments, [130])
  })

  test('SIGHUP stops only a process with a terminal', async () => {
    const reports: string[] = []
    let closed = 0
    const close = async () => {
      closed++
    }
    let isOnTerminal = false
    const stopped = untilStopped(new ManualClock(nowMs), close, {
      report: (text) => reports.push(text),
      isOnTerminal: () => isOnTerminal,
    })
    send('SIGHUP')
    assert.deepEqual([closed, reports.length], [0, 1])
    assert.match(reports[0] ?? '', /ignored SIGHUP: stop the server with SIGTERM/)
    isOnTerminal = true
    send('SIGHUP')
    await stopped
    assert.equal(closed, 1)
  })

  test('an error while closing is an error of the command', async () => {
    const stopped = untilStopped(new ManualClock(nowMs), async () => {
      throw new Error('disk full')
    })
    send('SIGTERM')
    await assert.rejects(stopped, /disk full/)
  })
})

function startWatched() {
  let endParent = () => {}
  let isWatching = false
  let closes = 0
  const stopped = untilStopped(new ManualClock(0), async () => void closes++, {
    report: () => {},
    isOnTerminal: () => false,
    watch: (action) => {
      endParent = () => isWatching && action()
      isWatching = true
      return () => {
        isWatching = false
      }
    },
  })
  return { stopped, endParent: () => endParent(), isWatching: () => isWatching, closes: () => closes }
}

test('the end of the shell in which npm started the server stops the server', async () => {
  const { stopped, endParent, closes } = startWatched()
  endParent()
  await stopped
  assert.equal(closes(), 1)
})

test('after a signal, the end of the parent process is ignored', async (t) => {
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
    await t.test(signal, () => {
      const { isWatching, closes } = startWatched()
      assert.equal(isWatching(), true)
      process.emit(signal, signal)
      assert.equal(isWatching(), false)
      assert.equal(closes(), signal === 'SIGHUP' ? 0 : 1, 'SIGHUP does not stop a server without a terminal')
    })
  }
})
