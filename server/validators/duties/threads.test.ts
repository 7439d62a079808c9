// The duties database on threads, as in a server: queries on one thread, updates on another.

import assert from 'node:assert/strict'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { describe, test } from 'node:test'
import type { Epoch } from '#core/chain-time.ts'
import { Fault } from '#core/fault.ts'
import { nextEventLoopTurn } from '#runtime/clock.ts'
import { checkSqlite } from '#storage/sqlite/copy.ts'
import { openContext, type TestContext } from '#test/context.ts'
import { everythingStored, storedRows } from '#test/stored-duties.ts'
import { type EpochRow, perfect, writeEpochs } from '#test/validators-world.ts'
import { waitUntil } from '#test/wait-until.ts'
import { measures } from '../method/measures.ts'
import { coveredEpochs } from './coverage.ts'
import { dayPartAt, plainTime } from './layout.ts'
import { missedFields } from './missed.ts'
import { dutiesOnThreads } from './store.ts'

const settings = { validators: { networks: { hoodi: { epochsPerHour: 2, epochsPerDay: 4 } } } }

function onThreads(context: TestContext): TestContext & AsyncDisposable {
  const duties = dutiesOnThreads(context.dutiesState, { dir: context.dir, options: context.settings.store })
  return { ...context, duties, [Symbol.asyncDispose]: () => duties.close() }
}

const rowsOf = (validators: number, until: number): EpochRow[] =>
  Array.from({ length: until }, (_, epoch) =>
    Array.from({ length: validators }, (_, at) => ({ epoch, validator: at * 37, ...perfect, earnings: at * epoch })),
  ).flat()

describe('on threads', () => {
  test('updates and queries return the same as on the current thread', async () => {
    await using context = await openContext(settings)
    await using threaded = onThreads(context)
    await using plain = await openContext(settings)
    for (const one of [threaded, plain]) await writeEpochs(one, 'hoodi', { from: 0, until: 9 }, rowsOf(5, 9))
    const stored = await everythingStored(threaded)
    assert.deepEqual(stored, await everythingStored(plain))
    assert.deepEqual(stored, await everythingStored(context))
    const hours = await storedRows(threaded, 'hoodi', 'hours')
    assert.ok(hours.some(({ earnings }) => earnings === 32))
  })

  test('a commit on the thread changes the version, and the next query sees it', async () => {
    await using context = await openContext(settings)
    await using threaded = onThreads(context)
    const before = threaded.duties.version()
    await writeEpochs(threaded, 'hoodi', { from: 0, until: 2 }, rowsOf(3, 2))
    await waitUntil(() => threaded.duties.version() !== before)
    assert.deepEqual(await coveredEpochs(threaded.duties, 'hoodi'), [{ from: 0, until: 2 }])
    const { duty_hours: rows } = await threaded.duties.query('countRows', undefined)
    assert.equal(rows, 2)
  })

  test('a fault keeps its code, and its update stores nothing', async () => {
    await using context = await openContext(settings)
    await using threaded = onThreads(context)
    await writeEpochs(threaded, 'hoodi', { from: 0, until: 2 }, [])
    const { hoodi } = threaded.settings.validators.networks
    const other = { ...plainTime(hoodi), epochsPerDay: 8 }
    const commit = threaded.duties.update('commitEpochs', {
      network: 'hoodi',
      time: other,
      segments: [large(9)],
    })
    await assert.rejects(commit, (error) => error instanceof Fault && error.code === 'validators.windows_changed')
    assert.deepEqual(await coveredEpochs(threaded.duties, 'hoodi'), [{ from: 0, until: 2 }])
    await assert.rejects(threaded.duties.query('nonsense' as never, {} as never), /unknown duties query nonsense/)
    await assert.rejects(threaded.duties.update('nonsense' as never, {} as never), /unknown duties update nonsense/)
  })

  test('transferred columns are detached', async () => {
    await using context = await openContext(settings)
    await using threaded = onThreads(context)
    const segment = large(100)
    const time = plainTime(threaded.settings.validators.networks.hoodi)
    const transfer = [segment.validator.buffer, segment.sums.earnings.buffer]
    await threaded.duties.update('commitEpochs', { network: 'hoodi', time, segments: [segment] }, { transfer })
    assert.deepEqual([segment.validator.length, segment.sums.earnings.length], [0, 0])
    const part = dayPartAt(time, segment.epochs.from)
    assert.equal((await threaded.duties.query('validatorsIn', { network: 'hoodi', part })).length, 100)
  })

  test('closing during an update leaves an intact database', async (t) => {
    await using context = await openContext(settings)
    if (context.dutiesState.engine !== 'sqlite') return t.skip('looks at the file')
    const file = join(context.dir, 'duties.sqlite')
    const threaded = onThreads(context)
    const commit = { network: 'hoodi', time: plainTime(context.settings.validators.networks.hoodi) } as const
    let isOver = false
    const running = threaded.duties.update('commitEpochs', { ...commit, segments: [large(50_000)] })
    const ended = running
      .then(() => 'committed', String)
      .finally(() => {
        isOver = true
      })
    while (!isHeld(file)) {
      assert.ok(!isOver, 'the update ended before it was observed')
      await nextEventLoopTurn()
    }
    await threaded.duties.close()
    assert.match(await ended, /was closed/)
    assert.deepEqual(checkSqlite(file), [])
    assert.deepEqual(await coveredEpochs(context.duties, 'hoodi'), [])
    await context.duties.update('commitEpochs', { ...commit, segments: [large(10)] })
    assert.deepEqual(await coveredEpochs(context.duties, 'hoodi'), [{ from: 2, until: 4 }])
  })
})

/** Epochs 2 and 3. */
function large(validators: number) {
  return {
    epochs: { from: 2 as Epoch, until: 4 as Epoch },
    validator: Int32Array.from({ length: validators }, (_, at) => at),
    sums: Object.fromEntries(
      measures.map((name, column) => [
        name,
        Float64Array.from({ length: validators }, (_, at) => (at * 7919 * column) % 1e6),
      ]),
    ) as Record<(typeof measures)[number], Float64Array<ArrayBuffer>>,
    missed: Object.fromEntries(missedFields.map((field) => [field, new Int32Array()])) as Record<
      (typeof missedFields)[number],
      Int32Array
    >,
    audits: [],
    unexplained: [],
    watched: undefined,
  }
}

function isHeld(file: string): boolean {
  using db = new DatabaseSync(file, { timeout: 0 })
  try {
    db.exec('begin immediate; rollback')
    return false
  } catch {
    return true
  }
}
