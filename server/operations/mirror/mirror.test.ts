// Tests the mirror with a real ClickHouse server.
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import type { Range } from '#core/ranges.ts'
import { systemClock } from '#runtime/clock.ts'
import type { State } from '#storage/state.ts'
import { stateWith } from '#test/authorization.ts'
import { type ClickhouseServer, clickhouseUser, noClickhouse, startClickhouse } from '#test/clickhouse.ts'
import { openContext, type TestContext } from '#test/context.ts'
import { openDemoServer } from '#test/demo-server.ts'
import { inject } from '#test/inject.ts'
import { serveScript } from '#test/scripted-server.ts'
import { type EpochRow, perfect, segmentsOf } from '#test/validators-world.ts'
import { levels, partsIn, plainTime } from '#validators/duties/layout.ts'
import { measures } from '#validators/method/measures.ts'
import { connectivityFindings } from '../connectivity.ts'
import { openDutiesTable } from '../export/duties.ts'
import { type ClickhouseClient, openClickhouse } from './clickhouse-client.ts'
import { prepareTables, readMirrorStatus, sendNext } from './mirror.ts'
import { clickhouseFindings, mirrorFindings } from './mirror-findings.ts'
import { createStatement, dailyTable, hourlyTable } from './mirror-tables.ts'

/** Epochs of an hour, chain hours of two epochs. Genesis is at noon, so UTC day 0 has the epochs 0 to 11. */
const chain = { genesisUnix: Date.UTC(2026, 10, 1, 12) / 1000, slotSeconds: 300, slotsPerEpoch: 12 }
const network = 'hoodi'
const { signal } = new AbortController()

type MirroredContext = TestContext & { readonly clickhouse: ClickhouseClient; readonly database: string }

async function openMirrored(server: ClickhouseServer, more: object = {}): Promise<MirroredContext> {
  const url = await server.database()
  const context = await openContext({
    validators: { networks: { [network]: { ...chain, epochsPerHour: 2, epochsPerDay: 24 } } },
    mirrors: { clickhouse: { url, ...more } },
  })
  await context.duties.update('writeChain', { network, chain: { ...chain, genesisRoot: '0x00' } })
  return { ...context, clickhouse: openClickhouse(url), database: new URL(url).pathname.slice(1) }
}

const timeOf = ({ settings }: TestContext) => plainTime(settings.validators.networks[network])

const rowsIn = ({ from, until }: Range, validators: readonly number[], more: Partial<EpochRow> = {}): EpochRow[] =>
  Array.from({ length: until - from }, (_, at) =>
    validators.map((validator) => ({ epoch: from + at, validator, ...perfect, ...more })),
  ).flat()

/** `fills`: epochs before the head, as when a gap is filled. */
async function commit(context: TestContext, span: Range, rows: readonly EpochRow[], fills = false, hoursKeptDays = 0) {
  const time = timeOf(context)
  await context.duties.update('commitEpochs', {
    network,
    time,
    segments: segmentsOf(time, span, rows),
    ...(!fills && { head: { hoursKeptDays, missedKeptDays: 0 } }),
  })
}

let stages = 0

/** Replaces all epochs of a day part, as a repair does. */
async function repair(context: TestContext, epoch: number, rows: readonly EpochRow[]) {
  const time = timeOf(context)
  const [part] = partsIn(time, { from: epoch, until: epoch + 1 })
  assert.ok(part)
  stages += 1
  for (const segment of segmentsOf(time, part.epochs, rows))
    await context.duties.update('stageSegment', { id: stages, time, segment })
  const parts = { from: part.number, until: part.number + 1 }
  await context.duties.update('replacePart', { id: stages, network, time, epochs: part.epochs, parts })
}

/** Returns the number of rows that were sent. */
async function sendAll(context: MirroredContext): Promise<number> {
  await prepareTables(context, context.clickhouse)
  let sent = 0
  for (;;) {
    const rows = await sendNext(context, context.clickhouse, signal)
    if (rows === undefined) return sent
    sent += rows
  }
}

const pendingOf = async (context: MirroredContext): Promise<number[]> =>
  (await readMirrorStatus(context)).map(({ pending }) => pending)

test('the statements', () => {
  assert.match(
    createStatement(dailyTable),
    /^create table if not exists validator_duties_daily \(\n {2}network String,/,
  )
  assert.match(
    createStatement(dailyTable),
    /engine = ReplacingMergeTree\(version\)\npartition by toYYYYMM\(date\)\norder by \(network, date, validator_index\)$/,
  )
  assert.match(createStatement(hourlyTable), /hour DateTime\('UTC'\),\n {2}chain_hour UInt32,/)
})

describe('the mirror', { skip: noClickhouse }, () => {
  let server: ClickhouseServer
  before(async () => {
    server = await startClickhouse()
  })
  after(() => server[Symbol.asyncDispose]())

  const select = (context: MirroredContext, what: string, table = dailyTable.name, more = '') =>
    server.sql(`select ${what} from ${table} final ${more}`, context.database)

  test('has the rows of every UTC day that is over, as `tetrad export` writes them', async () => {
    await using context = await openMirrored(server)
    // The second validator has no execution node in one epoch.
    const rows = [
      ...rowsIn({ from: 0, until: 40 }, [3, 70], { attestation_reward: 12_345, sync_penalty: -7 }),
      { epoch: 20, validator: 70, execution_unknown: 1, priority_fee: Number.NaN },
    ]
    await commit(context, { from: 0, until: 40 }, rows)
    await sendAll(context)
    const dataset = openDutiesTable(context.duties, { fromMs: 0, untilMs: Date.UTC(2026, 10, 3) })
    const expected = (await Array.fromAsync(dataset.batches())).flatMap(({ rows }) => rows)
    assert.equal(expected.length, 4)
    const names = measures.map((name, at) => (dataset.columns[4 + at]?.name === name ? name : `${name}_gwei`))
    const lines = await select(
      context,
      `network, toRelativeDayNum(date) - toRelativeDayNum(toDate('1970-01-01')), epochs, validator_index, ${names.join()}`,
      dailyTable.name,
      'order by validator_index, date',
    )
    assert.deepEqual(
      lines.split('\n').map((line) => line.split('\t')),
      expected.map((row) => row.map((cell) => (cell === null ? '\\N' : String(cell)))),
    )
    assert.ok(lines.includes('\\N'))
  })

  test('has the rows of every chain hour that is over', async () => {
    await using context = await openMirrored(server)
    await commit(context, { from: 0, until: 27 }, rowsIn({ from: 0, until: 27 }, [3]))
    await sendAll(context)
    const hours = await select(
      context,
      'toString(hour), chain_hour, epochs, validator_index, included',
      hourlyTable.name,
      'order by hour',
    )
    const lines = hours.split('\n')
    assert.equal(lines.length, 13)
    assert.equal(lines[0], '2026-11-01 12:00:00\t0\t2\t3\t2')
    // Across midnight UTC.
    assert.equal(lines[6], '2026-11-02 00:00:00\t6\t2\t3\t2')
    assert.equal(lines[12], '2026-11-02 12:00:00\t12\t2\t3\t2')
  })

  test('an hour across midnight is one row', async () => {
    const url = await server.database()
    await using opened = await openContext({
      validators: { networks: { [network]: { ...chain, epochsPerHour: 5, epochsPerDay: 24 } } },
      mirrors: { clickhouse: { url } },
    })
    await opened.duties.update('writeChain', { network, chain: { ...chain, genesisRoot: '0x00' } })
    const context = { ...opened, clickhouse: openClickhouse(url), database: new URL(url).pathname.slice(1) }
    await commit(context, { from: 0, until: 50 }, rowsIn({ from: 0, until: 50 }, [3]))
    await sendAll(context)
    const result = await select(context, 'count(), min(included), max(included)', hourlyTable.name)
    assert.equal(result, '10\t5\t5')
  })

  test('without hours, only days are sent', async () => {
    await using context = await openMirrored(server, { hours: false })
    await commit(context, { from: 0, until: 40 }, rowsIn({ from: 0, until: 40 }, [3]))
    assert.equal(await sendAll(context), 2)
    assert.equal(await server.sql('show tables', context.database), dailyTable.name)
  })

  test('continues at its cursor, and sends nothing twice', async () => {
    await using context = await openMirrored(server, { hours: false })
    await commit(context, { from: 0, until: 20 }, rowsIn({ from: 0, until: 20 }, [3, 4]))
    assert.equal(await sendAll(context), 2)
    assert.equal(await sendAll(context), 0)
    await commit(context, { from: 20, until: 60 }, rowsIn({ from: 20, until: 60 }, [3, 4]))
    assert.equal(await sendAll(context), 4)
    assert.equal(await select(context, 'count(), sum(included)'), '6\t120')
  })

  test('a process that is killed between insert and cursor sends the same rows again', async () => {
    await using context = await openMirrored(server)
    await commit(context, { from: 0, until: 60 }, rowsIn({ from: 0, until: 60 }, [3, 4]))
    await prepareTables(context, context.clickhouse)
    // The first write creates the cursors, the second one moves them.
    let writes = 0
    const write: State['write'] = (work, options) => {
      writes += 1
      return writes === 1 ? context.ingest.write(work, options) : Promise.reject(new Error('killed'))
    }
    const dying = { ...context, ingest: stateWith(context.ingest, { write }) }
    await assert.rejects(sendNext(dying, context.clickhouse, signal), /killed/)
    assert.equal(await select(context, 'count()'), '2')
    await sendAll(context)
    assert.equal(await select(context, 'count(), sum(included)'), '6\t120')
    assert.equal(await select(context, 'count(), sum(included)', hourlyTable.name), '60\t120')
  })

  test('a filled gap reaches days and hours that were sent before', async () => {
    await using context = await openMirrored(server)
    await commit(context, { from: 0, until: 14 }, rowsIn({ from: 0, until: 14 }, [3]))
    await commit(context, { from: 18, until: 60 }, rowsIn({ from: 18, until: 60 }, [3]))
    await sendAll(context)
    assert.equal(await select(context, 'epochs, included', dailyTable.name, `where date = '2026-11-02'`), '20\t20')
    await commit(context, { from: 14, until: 18 }, rowsIn({ from: 14, until: 18 }, [3, 9]), true)
    assert.deepEqual(await pendingOf(context), [1, 1])
    await sendAll(context)
    assert.deepEqual(await pendingOf(context), [0, 0])
    assert.equal(
      await select(context, 'validator_index, epochs, included', dailyTable.name, `where date = '2026-11-02'`),
      '3\t24\t24\n9\t24\t4',
    )
    assert.equal(await select(context, 'sum(included)', hourlyTable.name), '64')
  })

  test('a repair reaches the mirror, and duties that never were become zeros', async () => {
    await using context = await openMirrored(server)
    await commit(context, { from: 0, until: 60 }, rowsIn({ from: 0, until: 60 }, [3, 4]))
    await sendAll(context)
    await repair(context, 12, rowsIn({ from: 12, until: 36 }, [3], { earnings: 5 }))
    await sendAll(context)
    const day = `where date = '2026-11-02' order by validator_index`
    const lines = await select(context, 'validator_index, epochs, included, earnings_gwei', dailyTable.name, day)
    // The day has two day parts, and the repair replaces the first.
    const { epochs } = partsIn(timeOf(context), { from: 12, until: 13 })[0] as { epochs: Range }
    const repaired = epochs.until - epochs.from
    assert.equal(lines, `3\t24\t24\t${5 * repaired}\n4\t24\t${24 - repaired}\t0`)
    const hours = await select(
      context,
      'count(), sum(included)',
      hourlyTable.name,
      'where validator_index = 4 and chain_hour >= 6 and chain_hour < 12',
    )
    assert.equal(hours, '6\t0')
  })

  test('hours that were deleted by age stay in the mirror', async () => {
    await using context = await openMirrored(server)
    await commit(context, { from: 0, until: 24 }, rowsIn({ from: 0, until: 24 }, [3]))
    await sendAll(context)
    await commit(context, { from: 24, until: 60 }, rowsIn({ from: 24, until: 60 }, [3]), false, 1)
    const { count } = (await context.dutiesState.get<{ count: number }>(
      `select count(*) as count from ${levels.hours.table}`,
    )) as { count: number }
    assert.ok(count < 30)
    // A change of a day whose hours are gone.
    await repair(context, 0, rowsIn({ from: 0, until: 12 }, [3], { earnings: 1 }))
    await sendAll(context)
    assert.equal(await select(context, 'min(included)', hourlyTable.name), '2')
    assert.equal(await select(context, 'sum(earnings_gwei)'), '12')
  })

  test('a table that was dropped is filled again', async () => {
    await using context = await openMirrored(server)
    await commit(context, { from: 0, until: 60 }, rowsIn({ from: 0, until: 60 }, [3]))
    const sent = await sendAll(context)
    await server.sql(`drop table ${dailyTable.name}`, context.database)
    assert.equal(await sendAll(context), 3)
    assert.equal(await select(context, 'count()'), '3')
    assert.equal(sent, 33)
  })

  test('a new data folder replaces the rows of an old one', async () => {
    await using old = await openMirrored(server, { hours: false })
    await commit(old, { from: 0, until: 60 }, rowsIn({ from: 0, until: 60 }, [3, 4]))
    for (let count = 0; count < 3; count++) await repair(old, 12, rowsIn({ from: 12, until: 36 }, [3, 4]))
    await sendAll(old)
    await using context = await openMirrored(server, { hours: false })
    await commit(context, { from: 0, until: 60 }, rowsIn({ from: 0, until: 60 }, [3], { earnings: 1 }))
    const replaced = { ...context, clickhouse: old.clickhouse, database: old.database }
    await sendAll(replaced)
    assert.equal(
      await select(
        replaced,
        'validator_index, sum(included), sum(earnings_gwei)',
        dailyTable.name,
        'group by validator_index order by validator_index',
      ),
      '3\t60\t60\n4\t0\t0',
    )
  })

  test('the status and the doctor report the lag', async () => {
    await using context = await openMirrored(server)
    assert.deepEqual(await readMirrorStatus(context), [])
    await commit(context, { from: 0, until: 60 }, rowsIn({ from: 0, until: 60 }, [3]))
    const dayEndMs = Date.UTC(2026, 10, 2)
    context.clock.advance(Math.max(0, dayEndMs - context.clock.now()))
    const lagSeconds = (context.clock.now() - dayEndMs) / 1000
    const [days, hours] = await readMirrorStatus(context)
    assert.deepEqual(days, { network, table: dailyTable.name, unitName: 'days', pending: 3, lagSeconds })
    assert.equal(hours?.pending, 30)
    const behind = await mirrorFindings(context)
    assert.deepEqual(
      behind.map(({ name, level }) => [name, level]),
      [
        ['ClickHouse mirror: days of hoodi', 'warn'],
        ['ClickHouse mirror: hours of hoodi', 'warn'],
      ],
    )
    await sendAll(context)
    assert.deepEqual(await mirrorFindings(context), [{ name: 'ClickHouse mirror', level: 'ok', message: 'up to date' }])
    const [finding] = await clickhouseFindings(context)
    assert.equal(finding?.level, 'ok')
    assert.match(finding?.message ?? '', /^reachable, version \d+\.\d+/)
  })

  test('errors have the reason of ClickHouse, and no password', async () => {
    await using context = await openMirrored(server)
    const failing = openClickhouse(context.settings.mirrors.clickhouse.url.replace(/\/t\d+$/, '/nowhere'))
    await assert.rejects(failing.run('select 1 from validator_duties_daily'), (error: Error) => {
      assert.match(error.message, /^ClickHouse at 127\.0\.0\.1:\d+ returned status \d+: .*nowhere/)
      return true
    })
    const withWrongPassword = openClickhouse(context.settings.mirrors.clickhouse.url.replace(/:[^:@]+@/, ':wrong@'))
    await assert.rejects(withWrongPassword.run('select 1'), (error: Error) => {
      assert.match(error.message, /password/i)
      assert.ok(!error.message.includes(clickhouseUser.password) && !error.message.includes('wrong@'))
      return true
    })
  })

  test('a server keeps the mirror up to date, and its metrics show the lag', async () => {
    const url = await server.database()
    await using demo = await openDemoServer({ mirrors: { clickhouse: { url, hours: false } } })
    const readMetrics = async () => (await inject(demo.server, { url: '/metrics' })).body
    const valuesOf = (text: string, name: string) =>
      [...text.matchAll(new RegExp(`^${name}\\{.*\\} (\\d+)$`, 'gm'))].map(([, value]) => Number(value))
    let metrics = await readMetrics()
    while (valuesOf(metrics, 'tetrad_mirror_pending').some((pending) => pending > 0)) {
      await systemClock.sleep(50)
      metrics = await readMetrics()
    }
    assert.deepEqual([...new Set(valuesOf(metrics, 'tetrad_mirror_lag_seconds'))], [0])
    const days = await server.sql(
      `select count(distinct date) > 1 from ${dailyTable.name}`,
      new URL(url).pathname.slice(1),
    )
    assert.equal(days, '1')
  })
})

test('the password is sent in a header, and connections are not kept', async () => {
  await using scripted = await serveScript({ body: '1\n' })
  const address = scripted.url.replace('//', '//reader:p%40ss@')
  assert.equal(await openClickhouse(`${address}/tetrad`).run('select 1'), '1\n')
  const [request] = scripted.requests
  assert.equal(request?.url, '/?database=tetrad')
  assert.equal(request?.body, 'select 1')
  const { connection, 'x-clickhouse-user': user, 'x-clickhouse-key': key } = request?.headers ?? {}
  assert.deepEqual({ connection, user, key }, { connection: 'close', user: 'reader', key: 'p@ss' })
})

test('a ClickHouse server that cannot be reached is a warning of the doctor', async () => {
  await using scripted = await serveScript({ status: 503, body: 'Code: 999. DB::Exception: no quorum\nstack' })
  await using context = await openContext({ mirrors: { clickhouse: { url: `${scripted.url}/tetrad` } } })
  const finding = (await connectivityFindings(context)).find(({ name }) => name === 'ClickHouse')
  assert.equal(finding?.level, 'warn')
  assert.match(finding?.message ?? '', /returned status 503: Code: 999\. DB::Exception: no quorum$/)
})
