import assert from 'node:assert/strict'
import { AsyncLocalStorage } from 'node:async_hooks'
import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { after, before, describe, test } from 'node:test'
import { nextEventLoopTurn, systemClock } from '#runtime/clock.ts'
import { openLog, silentLog } from '#runtime/log.ts'
import { openDuties, openIngest, openState } from '#storage/open.ts'
import type { State, StateWriter } from '#storage/state.ts'
import { stateWith } from '#test/authorization.ts'
import { openContext, seededRandom, testNowMs } from '#test/context.ts'
import { ManualClock } from '#test/manual-clock.ts'
import { noPostgres, type PostgresServer, startPostgres } from '#test/postgres.ts'
import { waitUntil } from '#test/wait-until.ts'
import { storedChain } from '#validators/duties/networks.ts'
import { dutiesOnThisThread } from '#validators/duties/store.ts'
import { type LeaseContext, runInOneProcess, runUnderLease, runWhileLeased } from './lease.ts'
import { LeaseLost } from './lease-lost.ts'
import { leasedDuties, leasedState } from './leased-stores.ts'

/** Runs everything that is ready without advancing the clock, including the database. */
const settle = async () => {
  for (let tick = 0; tick < 50; tick++) await nextEventLoopTurn()
}

/** One of several processes, with its own connection, clock and loop. */
async function aProcess(dir: string, seed: string) {
  const state = leasedState(await openIngest(dir))
  const clock = new ManualClock(testNowMs)
  const lines: string[] = []
  const context: LeaseContext = {
    ingest: state,
    clock,
    random: seededRandom(seed),
    log: openLog('info', (line) => lines.push(line)),
  }
  const stop = new AbortController()
  let holds = false
  /** Writes under the lease of the ingester. */
  let write: (() => Promise<unknown>) | undefined
  const put = () => state.write((tx) => tx.run(`insert into keys_seen (name) values ('${seed}')`))
  const ended = runWhileLeased(
    context,
    {
      name: 'rates',
      reportHolding: (is) => {
        holds = is === true
      },
      work: (signal) => {
        write = AsyncLocalStorage.bind(put)
        return new Promise((resolve) => signal.addEventListener('abort', () => resolve(), { once: true }))
      },
    },
    stop.signal,
  )
  return {
    state,
    clock,
    lines,
    context,
    holds: () => holds,
    write: () => write?.(),
    async move(byMs: number) {
      for (let passed = 0; passed < byMs; passed += 1000) {
        clock.advance(1000)
        await settle()
      }
    },
    async stop() {
      stop.abort()
      await ended
    },
    async [Symbol.asyncDispose]() {
      stop.abort()
      await ended
      await state.close()
    },
  }
}

const seenTable = async (state: State) => {
  await state.write((tx) => tx.run('create table keys_seen (name text not null)'))
}
const seen = async (state: State) =>
  (await state.all<{ name: string }>('select name from keys_seen')).map((row) => row.name)

describe('two processes with manual clocks', () => {
  test('one holds the lease; when it stops, the other takes over at its next check', async () => {
    await using context = await openContext()
    await using one = await aProcess(context.dir, 'one')
    await settle()
    await using other = await aProcess(context.dir, 'other')
    await settle()
    for (let minute = 0; minute < 2; minute++) {
      for (let second = 0; second < 60; second++) await Promise.all([one.move(1000), other.move(1000)])
      assert.deepEqual([one.holds(), other.holds()], [true, false])
    }
    await one.stop()
    await other.move(5000)
    assert.equal(other.holds(), true)
  })

  test('a dead holder is replaced within 30 seconds, and not before it has expired', async () => {
    await using context = await openContext()
    await using one = await aProcess(context.dir, 'one')
    await settle()
    await using other = await aProcess(context.dir, 'other')
    await Promise.all([one.move(7000), other.move(7000)])
    assert.equal(one.holds(), true)
    // From now on `one` is suspended. Its last heartbeat, at 5 s, was seen at once and is valid for 15 s.
    await other.move(12_000)
    assert.equal(other.holds(), false)
    await other.move(18_000)
    assert.equal(other.holds(), true)
  })

  test('a suspended holder that was replaced writes nothing more, and stops', async () => {
    await using context = await openContext()
    await seenTable(context.ingest)
    await using one = await aProcess(context.dir, 'one')
    await settle()
    await using other = await aProcess(context.dir, 'other')
    await one.write()
    await other.move(30_000)
    await other.write()
    await assert.rejects(one.write() as Promise<unknown>, LeaseLost)
    assert.deepEqual(await seen(context.ingest), ['one', 'other'])
    await settle()
    assert.deepEqual([one.holds(), other.holds()], [false, true])
    assert.ok(one.lines.some((line) => line.includes('lease lost to another process')))
    await other.write()
    assert.deepEqual(await seen(context.ingest), ['one', 'other', 'other'])
  })

  test('a holder notices with its heartbeat that it was replaced', async () => {
    await using context = await openContext()
    await using one = await aProcess(context.dir, 'one')
    await settle()
    await using other = await aProcess(context.dir, 'other')
    await other.move(30_000)
    assert.equal(one.holds(), true)
    await one.move(5000)
    assert.deepEqual([one.holds(), other.holds()], [false, true])
  })
})

describe('work that ends', () => {
  /** Requests the lease; `result` is set when it settles. */
  const attemptLease = (context: LeaseContext, wait: boolean, work: (signal: AbortSignal) => Promise<unknown>) => {
    const stop = new AbortController()
    const attempt = { result: undefined as unknown, stop }
    const settled = (how: unknown) => {
      attempt.result = how
    }
    runUnderLease(context, { name: 'rates', wait }, work, stop.signal).then(
      (result) => settled(result ?? 'refused'),
      settled,
    )
    return attempt
  }

  test('a free lease is held during the work and released, also if the work fails', async () => {
    await using context = await openContext()
    const leases = () => context.ingest.all<{ holder: string; token: number }>('select holder, token from leases')
    const result = await runUnderLease(context, { name: 'rates', wait: false }, leases, new AbortController().signal)
    assert.match(result?.done[0]?.holder ?? '', /^.+$/)
    assert.deepEqual(await leases(), [{ holder: '', token: 1 }])
    const failing = runUnderLease(
      context,
      { name: 'rates', wait: false },
      () => Promise.reject(new Error('no')),
      AbortSignal.any([]),
    )
    await assert.rejects(failing, /^Error: no$/)
    assert.deepEqual(await leases(), [{ holder: '', token: 2 }])
  })

  test('with a live holder, the request is refused when the heartbeat changes; with wait, it runs afterwards', async () => {
    await using context = await openContext()
    await using one = await aProcess(context.dir, 'one')
    await settle()
    const begun: string[] = []
    const hasty = attemptLease(context, false, async () => begun.push('hasty'))
    const patient = attemptLease(context, true, async () => begun.push('patient'))
    const pass = async (ms: number) => {
      for (let passed = 0; passed < ms; passed += 500) {
        context.clock.advance(500)
        await settle()
      }
    }
    await pass(4000)
    assert.equal(hasty.result, undefined)
    await one.move(5000)
    await pass(1000)
    assert.equal(hasty.result, 'refused')
    await one.stop()
    await pass(1000)
    assert.deepEqual([patient.result, begun], [{ done: 1 }, ['patient']])
  })

  test('a dead holder is replaced, also without wait', async () => {
    await using context = await openContext()
    await using one = await aProcess(context.dir, 'one')
    await settle()
    assert.equal(one.holds(), true)
    const attempt = attemptLease(context, false, async () => 'mine')
    for (let passed = 0; passed < 14_000; passed += 500) {
      context.clock.advance(500)
      await settle()
    }
    assert.equal(attempt.result, undefined)
    for (let passed = 0; passed < 3000; passed += 500) {
      context.clock.advance(500)
      await settle()
    }
    assert.deepEqual(attempt.result, { done: 'mine' })
  })

  test('the work does not start if the signal aborts during the wait', async () => {
    await using context = await openContext()
    await using _one = await aProcess(context.dir, 'one')
    await settle()
    const attempt = attemptLease(context, true, async () => assert.fail('it began'))
    await settle()
    attempt.stop.abort()
    await settle()
    assert.equal(attempt.result, 'refused')
  })
})

describe('duties on PostgreSQL', { skip: noPostgres }, () => {
  let server: PostgresServer
  before(async () => {
    server = await startPostgres()
  })
  after(() => server?.[Symbol.asyncDispose]())

  /** One of several processes on PostgreSQL; leases expire at once. */
  async function aSharer(
    url: string,
    seed: string,
    changes: Partial<State> = {},
    wrap = (state: State): State => state,
  ) {
    const [state, dutiesState] = [await openState('', { state: url }), await openDuties('', { state: url })]
    const context: LeaseContext = {
      ingest: leasedState(wrap(state)),
      clock: systemClock,
      random: seededRandom(seed),
      log: silentLog,
    }
    const duties = leasedDuties(dutiesOnThisThread(stateWith(dutiesState, changes)))
    const chain = (genesisUnix: number) => ({ genesisUnix, genesisRoot: seed, slotSeconds: 12, slotsPerEpoch: 32 })
    return {
      state,
      context,
      dutiesState,
      put: (genesisUnix: number) => duties.update('writeChain', { network: 'hoodi', chain: chain(genesisUnix) }),
      stored: () => storedChain(duties, 'hoodi').then((found) => found?.genesisUnix),
      underLease: (work: () => Promise<void>) =>
        runUnderLease(
          context,
          { name: 'beacon', wait: true, pace: { heartbeatMs: 60_000, expiryMs: 0, checkMs: 1 } },
          work,
          new AbortController().signal,
        ),
      async [Symbol.asyncDispose]() {
        await dutiesState.close()
        await state.close()
      },
    }
  }

  test('a replaced process writes no duties; outside an ingester no lease is needed', async () => {
    const url = await server.schema()
    await using one = await aSharer(url, 'one')
    await using other = await aSharer(url, 'other')
    let refused: unknown
    await one.underLease(async () => {
      await one.put(1)
      const putAsOne = AsyncLocalStorage.bind(() => one.put(3))
      await other.underLease(async () => {
        await other.put(2)
        refused = await putAsOne().catch((error: unknown) => error)
      })
    })
    assert.ok(refused instanceof LeaseLost, String(refused))
    assert.equal(await one.stored(), 2)
    await one.put(4)
    assert.equal(await other.stored(), 4)
  })

  test('a holder that is suspended in a transaction keeps its lock no longer than its lease', async () => {
    const url = await server.schema()
    await using one = await aSharer(url, 'one')
    const read = () =>
      one.context.ingest.write((tx) => tx.get(`select current_setting('idle_in_transaction_session_timeout') as idle`))
    const limits = []
    for (const expiryMs of [0, 3000, 15_000]) {
      const lease = { name: 'rates', wait: true, pace: { heartbeatMs: 60_000, expiryMs, checkMs: 1 } }
      limits.push((await runUnderLease(one.context, lease, read, new AbortController().signal))?.done)
    }
    assert.deepEqual(limits, [{ idle: '1s' }, { idle: '3s' }, { idle: '10s' }])
  })

  test('a lease is not taken over while duties are being written, and other writes continue', async () => {
    const url = await server.schema()
    const [writing, gate] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
    let duties: State | undefined
    const held = (work: (tx: StateWriter) => Promise<unknown>) =>
      duties?.write(async (tx) => {
        const result = await work(tx)
        writing.resolve()
        await gate.promise
        return result
      })
    await using one = await aSharer(url, 'one', { write: held as State['write'] })
    duties = one.dutiesState
    let attempts = 0
    await using other = await aSharer(url, 'other', {}, (state) =>
      stateWith(state, {
        write: (work, options) => {
          attempts += 1
          return state.write(work, options)
        },
      }),
    )
    const order: string[] = []
    const first = one.underLease(async () => {
      await one.put(1)
      order.push('one')
    })
    await writing.promise
    // Like a heartbeat and any other writer.
    await one.state.write((tx) => tx.run('update leases set heartbeat = heartbeat + 1'))
    const second = other.underLease(async () => {
      order.push('other')
      await other.put(2)
    })
    await waitUntil(() => attempts > 2)
    assert.deepEqual(order, [])
    gate.resolve()
    await Promise.all([first, second])
    assert.deepEqual(order.toSorted(), ['one', 'other'])
    assert.equal(await other.stored(), 2)
  })
})

test('an ingester without work releases the lease; one that fails is restarted', async () => {
  await using context = await openContext()
  const stop = new AbortController()
  await runWhileLeased(context, { name: 'nothing', work: async () => {} }, stop.signal)
  assert.deepEqual(await context.ingest.all('select holder, token from leases'), [{ holder: '', token: 1 }])
  let begun = 0
  const ended = runWhileLeased(
    context,
    {
      name: 'broken',
      work: async () => {
        begun += 1
        throw new Error('broken')
      },
    },
    stop.signal,
  )
  while (begun < 3) {
    context.clock.advance(1000)
    await settle()
  }
  stop.abort()
  await ended
})

test('an ingester without work reports that no process runs it, on every engine', async () => {
  await using context = await openContext()
  for (const run of [runWhileLeased, runInOneProcess]) {
    const reports: (boolean | undefined)[] = []
    const reportHolding = (is: boolean | undefined) => void reports.push(is)
    await run(context, { name: 'nothing', work: async () => {}, reportHolding }, new AbortController().signal)
    assert.equal(reports.at(-1), undefined, run.name)
    assert.ok(reports.includes(true))
  }
})

test('on SQLite no lease is written', async (t) => {
  await using context = await openContext()
  if (context.ingest.engine !== 'sqlite') return t.skip('the state of this run is on a server')
  const before = context.ingest.version()
  let ran = false
  const work = async () => {
    ran = true
  }
  await runInOneProcess(context, { name: 'rates', work }, new AbortController().signal)
  assert.ok(ran)
  assert.equal(context.ingest.version(), before)
})

test('a failed ingester is logged, its remaining loops are stopped, and it is restarted', async () => {
  await using context = await openContext()
  const lines: string[] = []
  const log = openLog('info', (line) => lines.push(line))
  const stop = new AbortController()
  const left: AbortSignal[] = []
  const work = async (signal: AbortSignal) => {
    left.push(signal)
    const loop = new Promise((resolve) => signal.addEventListener('abort', resolve, { once: true }))
    await Promise.all([loop, left.length < 3 && Promise.reject(new Error('the disk is full'))])
  }
  const ended = runInOneProcess({ ...context, log }, { name: 'markets', work }, stop.signal)
  for (let seconds = 0; left.length < 3; seconds++) {
    assert.ok(seconds < 60, 'it is begun again')
    await settle()
    context.clock.advance(1000)
  }
  assert.deepEqual(
    left.map(({ aborted }) => aborted),
    [true, true, false],
  )
  const failures = lines.filter((line) => line.includes('"ingester":"markets"') && line.includes('the disk is full'))
  assert.equal(failures.length, 2)
  assert.match(failures[0] ?? '', /ingester failed; restarting it/)
  stop.abort()
  await ended
})

test('errors caused by stopping are not logged', async () => {
  await using context = await openContext()
  const lines: string[] = []
  const stop = new AbortController()
  const work = async (signal: AbortSignal) => {
    stop.abort()
    signal.throwIfAborted()
  }
  await runInOneProcess(
    { ...context, log: openLog('error', (line) => lines.push(line)) },
    { name: 'markets', work },
    stop.signal,
  )
  assert.deepEqual(lines, [])
})

describe('two real processes', () => {
  const pace = { heartbeatMs: 100, expiryMs: 1500, checkMs: 100 }

  interface Child extends AsyncDisposable {
    readonly process: ChildProcess
    readonly messages: string[]
    waitFor(message: string): Promise<void>
  }
  const launch = (number: number, database: string): Child => {
    const file = new URL('../../test/ingester.ts', import.meta.url)
    const child = fork(file, [String(number), database, JSON.stringify(pace)], { stdio: 'inherit' })
    const messages: string[] = []
    child.on('message', (message) => messages.push(String(message)))
    return {
      process: child,
      messages,
      async waitFor(message) {
        for (let tries = 0; !messages.includes(message); tries++) {
          assert.ok(tries < 3000, `process ${number} did not send ${message}: ${messages.slice(-5)}`)
          await systemClock.sleep(10)
        }
      },
      async [Symbol.asyncDispose]() {
        if (child.exitCode !== null || child.signalCode !== null) return
        const exited = once(child, 'exit')
        child.kill('SIGKILL')
        await exited
      },
    }
  }

  interface Written {
    readonly process: number
    readonly token: number
  }
  const numbersIn = async (state: State) => {
    await state.write((tx) =>
      tx.run('create table numbers (id bigint primary key, process bigint not null, token bigint not null)'),
    )
    return () => state.all<Written>('select process, token from numbers order by id')
  }
  /** Each process wrote without interruption and under one token. */
  const writersOf = (rows: readonly Written[]) => {
    const runs = rows.filter((row, index) => row.process !== rows[index - 1]?.process)
    assert.equal(new Set(rows.map(({ process, token }) => `${process} ${token}`)).size, runs.length)
    return runs.map(({ process }) => process)
  }

  test('a killed process is replaced by the other', async () => {
    await using context = await openContext()
    if (context.ingest.engine !== 'sqlite') return
    const numbers = await numbersIn(context.ingest)
    await using one = launch(1, context.dir)
    await one.waitFor('wrote')
    await using two = launch(2, context.dir)
    await two.waitFor('up')
    one.process.kill('SIGKILL')
    await two.waitFor('wrote')
    assert.deepEqual(writersOf(await numbers()), [1, 2])
  })

  test('on PostgreSQL a suspended process writes nothing after its lease has expired', {
    skip: noPostgres,
  }, async () => {
    await using server = await startPostgres()
    const url = await server.schema()
    const state = await openState('', { state: url })
    await using _closed = { [Symbol.asyncDispose]: () => state.close() }
    const numbers = await numbersIn(state)
    await using one = launch(1, url)
    await one.waitFor('wrote')
    await using two = launch(2, url)
    await two.waitFor('up')
    one.process.kill('SIGKILL')
    await two.waitFor('wrote')
    await using three = launch(3, url)
    await three.waitFor('up')
    two.process.kill('SIGSTOP')
    await three.waitFor('wrote')
    two.process.kill('SIGCONT')
    await two.waitFor('ends')
    const until = three.messages.length + 20
    await waitUntil(() => three.messages.length >= until)
    assert.deepEqual(writersOf(await numbers()), [1, 2, 3])
  })
})
