import assert from 'node:assert/strict'
import { afterEach, describe, test } from 'node:test'
import { contract } from '#api/contract.ts'
import { ManualClock } from '#runtime/clock.ts'
import { inputsOf } from './ask.ts'
import { CommandFailure, describeFailure } from './failure.ts'
import { momentOf } from './parse-time.ts'
import { untilStopped } from './stop.ts'

const nowMs = Date.UTC(2026, 10, 15, 12)

describe('--expires', () => {
  const table: readonly (readonly [string, number])[] = [
    ['30m', nowMs + 30 * 60_000],
    ['12h', nowMs + 12 * 3_600_000],
    ['90d', nowMs + 90 * 86_400_000],
    ['2w', nowMs + 14 * 86_400_000],
    ['2027-01-31', Date.UTC(2027, 0, 31)],
    ['2027-01-31T18:00:00Z', Date.UTC(2027, 0, 31, 18)],
    ['2027-01-31T18:00+02:00', Date.UTC(2027, 0, 31, 16)],
  ]
  for (const [text, expected] of table) {
    test(`${text} is a moment`, () => assert.equal(momentOf(text, nowMs), expected))
  }

  for (const text of [
    '',
    'soon',
    '90',
    '-5d',
    '1.5d',
    '2027-02-30',
    '2027-02-30T18:00:00Z',
    '2027-01-31T24:00:00Z',
    '2027-01-31T18:00:00',
    '2026-11-15',
    '0d',
    '999999999w',
  ]) {
    test(`"${text}" is refused`, () => assert.throws(() => momentOf(text, nowMs), CommandFailure))
  }
})

describe('stopping', () => {
  afterEach(() => {
    for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.removeAllListeners(signal)
  })
  const send = (signal: 'SIGINT' | 'SIGTERM' | 'SIGHUP') => process.emit(signal, signal)

  test('the first signal closes once, and a second one right behind it changes nothing', async (t) => {
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

  test('a second signal that comes clearly later ends the process at once', (t) => {
    const exit = t.mock.method(process, 'exit', () => undefined as never)
    const clock = new ManualClock(nowMs)
    void untilStopped(clock, () => new Promise(() => {}))
    send('SIGTERM')
    clock.advance(501)
    send('SIGINT')
    assert.deepEqual(exit.mock.calls[0]?.arguments, [130])
  })

  test('a hang-up ends what belongs to a terminal, and nothing else', async () => {
    const said: string[] = []
    let closed = 0
    const close = async () => {
      closed++
    }
    let isOnTerminal = false
    const stopped = untilStopped(new ManualClock(nowMs), close, {
      report: (words) => said.push(words),
      isOnTerminal: () => isOnTerminal,
    })
    send('SIGHUP')
    assert.deepEqual([closed, said.length], [0, 1])
    assert.match(said[0] ?? '', /passed over: stop with SIGTERM/)
    isOnTerminal = true
    send('SIGHUP')
    await stopped
    assert.equal(closed, 1)
  })

  test('a close that fails is a failure of the command', async () => {
    const stopped = untilStopped(new ManualClock(nowMs), async () => {
      throw new Error('disk full')
    })
    send('SIGTERM')
    await assert.rejects(stopped, /disk full/)
  })
})

test('no input of an endpoint has the name of an option that every command takes', () => {
  const taken = ['config', 'data', 'json', 'url', 'key', 'help', 'version']
  for (const endpoint of Object.values(contract)) {
    for (const { path } of inputsOf(endpoint.input as never, [], true))
      assert.ok(!taken.includes(path.join('.')), endpoint.id)
  }
})

test('a key in the words of any failure is cut to its public part', () => {
  const key = `tetrad:abc:${'s'.repeat(43)}`
  assert.equal(describeFailure(new CommandFailure('x', `no ${key} here`)).message, 'no tetrad:abc:… here')
})

test('an address in use and a port that is not allowed are told with what to do', () => {
  const system = (code: string) => Object.assign(new Error('x'), { code, syscall: 'listen', address: '::1', port: 80 })
  assert.match(
    describeFailure(system('EADDRINUSE')).message,
    /^::1:80 is in use by another program; choose a port with --port/,
  )
  assert.match(describeFailure(system('EACCES')).message, /choose a port above 1023/)
  assert.match(describeFailure(system('EADDRNOTAVAIL')).message, /choose one with --host/)
  const unknown = Object.assign(new Error('x'), { code: 'ENOTFOUND', syscall: 'getaddrinfo', hostname: 'no.where' })
  assert.match(
    describeFailure(unknown).message,
    /^no\.where is not a name that this machine knows; choose another with --host/,
  )
})
