// From a data folder to PostgreSQL and ClickHouse and on from there, as an operator would do it.
import assert from 'node:assert/strict'
import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import type { ChainTime, Epoch } from '#core/chain-time.ts'
import { coveredEpochs, writeDuties } from '#groups/validators/duties.ts'
import { silentLog } from '#io/log.ts'
import { start } from '#server/main.ts'
import { chance } from '#sim/chance.ts'
import { openStores, type Stores } from '#store/open.ts'
import { noClickhouse, startClickhouse } from '#test/clickhouse.ts'
import { settingsWith } from '#test/desk.ts'
import { onlyInLongRun } from '#test/long.ts'
import { noPostgres, startPostgres } from '#test/postgres.ts'
import { actOut, castOf } from '#test/validators-acting.ts'
import { openFolder, run } from './run.ts'

const time: ChainTime = { genesisUnix: 40_000, slotSeconds: 3600, slotsPerEpoch: 8, epochsPerHour: 1, epochsPerDay: 3 }

const ratingsOf = async ({ facts }: Stores) => [
  await coveredEpochs(facts, 'mainnet'),
  await facts.query(
    `select validator, day, sum(assigned) as votes, sum(earnings) as gwei from duty_days
     group by validator, day order by validator, day`,
  ),
]

describe('tetrad move', { skip: noPostgres }, () => {
  test('carries keys over; from then on every command works on PostgreSQL, and a copy of a file is not offered', async () => {
    await using home = await openFolder()
    await using server = await startPostgres()
    const { dir: cwd } = home
    const to = await server.schema()
    const env = { TETRAD_STORE_STATE: to }
    await run(['keys', 'create', '--name', 'before', '--plan', 'free'], { cwd })

    const moved = await run(['move', '--from', 'data', '--to', to], { cwd })
    assert.match(
      moved.stdout,
      /Moved: \d+ tables, \d+ rows, all of them verified; [1-9]\d* had to be written/,
      moved.stderr,
    )
    await run(['keys', 'create', '--name', 'meanwhile', '--plan', 'free'], { cwd })
    const again = await run(['move', '--from', 'data', '--json'], { cwd, env })
    assert.equal(again.code, 0, again.stderr)
    assert.ok((await readdir(join(cwd, 'data'))).every((name) => !name.startsWith('moving')))

    const listed = await run(['keys', 'list', '--json'], { cwd, env })
    const names = (JSON.parse(listed.stdout) as { name: string }[]).map(({ name }) => name)
    assert.deepEqual(names, ['before', 'meanwhile'])
    await run(['keys', 'create', '--name', 'there', '--plan', 'free'], { cwd, env })
    const late = await run(['move', '--from', 'data'], { cwd, env })
    assert.equal(late.code, 1)
    assert.match(late.stderr, /has been used since it was moved to/)

    const backup = await run(['backup', 'copy'], { cwd, env })
    assert.equal(backup.code, 1)
    assert.match(backup.stderr, /The state is in PostgreSQL.*pg_dump/)
    const doctor = await run(['doctor', '--offline', '--sample', '0'], { cwd, env })
    // The tests' own server is set up to be quick, and the doctor sees it.
    assert.match(doctor.stdout, /BAD {3}state: PostgreSQL at .* fsync is off/)
    assert.match(doctor.stdout, /ok {4}keys: 3 in use/)
  })

  test('carries ratings over to ClickHouse, beside the running server and without one', {
    skip: noClickhouse || onlyInLongRun,
  }, async () => {
    await using home = await openFolder()
    await using postgres = await startPostgres()
    await using clickhouse = await startClickhouse()
    const { dir: cwd } = home
    const data = join(cwd, 'data')
    const [state, facts] = [await postgres.schema(), await clickhouse.database()]
    const env = { TETRAD_STORE_STATE: state, TETRAD_STORE_FACTS: facts }
    const write = async (stores: Stores, from: number, until: number) => {
      const [epochs, draws] = [{ from: from as Epoch, until: until as Epoch }, chance(`move ${from}`)]
      const rows = actOut(draws, castOf(draws, 20, epochs), epochs, true)
      await writeDuties(stores.facts, { network: 'mainnet', time, epochs, rows })
    }
    const server = await start({
      ...{ settings: settingsWith({ server: { port: 0 } }), dataDir: data, log: silentLog },
      prepare: (desk) => write({ ...desk, close: async () => {} }, 0, 40),
    })
    const first = await run(['move', '--from', 'data', '--json'], { cwd, env }).finally(() => server.close())
    assert.equal(first.code, 0, first.stderr)
    const told = JSON.parse(first.stdout) as { tables: { name: string; rows: number; written: number }[] }
    const days = told.tables.find(({ name }) => name === 'duty_days')
    assert.ok(days && days.rows > 0 && days.written === days.rows, first.stdout)

    const embedded = await openStores(data)
    await write(embedded, 40, 50)
    const days50 = await ratingsOf(embedded)
    await embedded.close()
    const second = await run(['move', '--from', 'data'], { cwd, env })
    assert.match(second.stdout, /Moved: \d+ tables, \d+ rows, all of them verified/, second.stderr)
    assert.ok((await readdir(data)).every((name) => !name.startsWith('moving')))
    const shared = await openStores(data, { state, facts })
    assert.deepEqual(await ratingsOf(shared), days50)
    await shared.close()
  })

  test('says what is missing', async () => {
    await using home = await openFolder()
    const { dir: cwd } = home
    const nowhere = await run(['move', '--from', 'data'], { cwd })
    assert.deepEqual([nowhere.code, /Say where to with --to/.test(nowhere.stderr)], [1, true])
    const nothing = await run(['move', '--from', 'no', '--to', 'postgres://127.0.0.1:9/x'], { cwd })
    assert.deepEqual([nothing.code, /no state\.sqlite in no/.test(nothing.stderr)], [1, true])
    await run(['keys', 'create', '--name', 'a', '--plan', 'free'], { cwd })
    const away = await run(['move', '--to', 'postgres://me:hunter2@127.0.0.1:9/x'], { cwd })
    assert.equal(away.code, 1)
    assert.match(away.stderr, /PostgreSQL at 127\.0\.0\.1:9\/x cannot be reached/)
    assert.doesNotMatch(away.stderr, /hunter2/)
  })
})
