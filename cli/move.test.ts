// `tetrad move` from a data folder to PostgreSQL.
import assert from 'node:assert/strict'
import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import type { ChainTime, Epoch } from '#core/chain-time.ts'
import type { Context } from '#http/context.ts'
import { silentLog } from '#runtime/log.ts'
import type { Settings } from '#runtime/settings.ts'
import { startServer } from '#server/app.ts'
import { createSeededRandom } from '#simulator/seeded-random.ts'
import { openStores, type Stores } from '#storage/open.ts'
import { settingsWith } from '#test/context.ts'
import { noPostgres, startPostgres } from '#test/postgres.ts'
import { openFolder, runCommand } from '#test/run-command.ts'
import { everythingStored } from '#test/stored-duties.ts'
import { drawDuties, drawValidators } from '#test/validators-acting.ts'
import { writeEpochs } from '#test/validators-world.ts'
import { dutiesOnThisThread } from '#validators/duties/store.ts'

const time: ChainTime = { genesisUnix: 40_000, slotSeconds: 3600, slotsPerEpoch: 8, epochsPerHour: 1, epochsPerDay: 3 }

const contextOf = ({ duties }: Stores, settings: Settings) => ({
  ...{ duties: dutiesOnThisThread(duties), dutiesState: duties, settings },
})

describe('tetrad move', { skip: noPostgres }, () => {
  test('moves keys; afterwards every command works on PostgreSQL, and backup is refused', async () => {
    await using home = await openFolder()
    await using server = await startPostgres()
    const { dir: cwd } = home
    const to = await server.schema()
    const env = { TETRAD_STORE_STATE: to }
    await runCommand(['keys', 'create', '--name', 'before', '--plan', 'free'], { cwd })

    const first = await runCommand(['move', '--from', 'data', '--to', to], { cwd })
    assert.match(first.stdout, /Moved: \d+ tables, \d+ rows, all verified, [1-9]\d* written/, first.stderr)
    await runCommand(['keys', 'create', '--name', 'meanwhile', '--plan', 'free'], { cwd })
    const again = await runCommand(['move', '--from', 'data', '--json'], { cwd, env })
    assert.equal(again.code, 0, again.stderr)
    assert.ok((await readdir(join(cwd, 'data'))).every((name) => !name.startsWith('moving')))

    const listed = await runCommand(['keys', 'list', '--json'], { cwd, env })
    const names = (JSON.parse(listed.stdout) as { name: string }[]).map(({ name }) => name)
    assert.deepEqual(names, ['before', 'meanwhile'])
    await runCommand(['keys', 'create', '--name', 'there', '--plan', 'free'], { cwd, env })
    const late = await runCommand(['move', '--from', 'data'], { cwd, env })
    assert.equal(late.code, 1)
    assert.match(late.stderr, /has been used since the last move/)

    const backup = await runCommand(['backup', 'copy'], { cwd, env })
    assert.equal(backup.code, 1)
    assert.match(backup.stderr, /The state is in PostgreSQL.*pg_dump/)
    const doctor = await runCommand(['doctor', '--offline', '--sample', '0'], { cwd, env })
    // The tests' own server is set up to be quick, and the doctor sees it.
    assert.match(doctor.stdout, /FAIL {2}state: PostgreSQL at .* fsync is off/)
    assert.match(doctor.stdout, /ok {4}keys: 3 in use/)
  })

  test('moves ratings, with and without a running server', async () => {
    await using home = await openFolder()
    await using postgres = await startPostgres()
    const { dir: cwd } = home
    const data = join(cwd, 'data')
    const url = await postgres.schema()
    const env = { TETRAD_STORE_STATE: url }
    const settings = settingsWith({ server: { port: 0 }, validators: { networks: { mainnet: time } } })
    const write = (context: Pick<Context, 'duties' | 'settings'>, from: number, until: number) => {
      const [epochs, draws] = [{ from: from as Epoch, until: until as Epoch }, createSeededRandom(`move ${from}`)]
      return writeEpochs(context, 'mainnet', epochs, drawDuties(draws, drawValidators(draws, 20, epochs), epochs, true))
    }
    const server = await startServer({
      ...{ settings, dataDir: data, log: silentLog },
      beforeStart: async (context) => void (await write(context, 0, 40)),
    })
    const first = await runCommand(['move', '--from', 'data', '--json'], { cwd, env }).finally(() => server.close())
    assert.equal(first.code, 0, first.stderr)
    const { isFinal, tables } = JSON.parse(first.stdout) as {
      isFinal: boolean
      tables: { name: string; rows: number; written: number }[]
    }
    assert.equal(isFinal, false)
    // A server or a command on the half-current target would add to it, and the final move would be refused.
    await assert.rejects(
      openStores(join(cwd, 'elsewhere'), { state: url }),
      /the move to this database is not complete/,
    )
    const refused = await runCommand(['keys', 'create', '--name', 'early', '--plan', 'free'], { cwd, env })
    assert.match(refused.stderr, /the move to this database is not complete; stop the server on the data folder/)
    const days = tables.find(({ name }) => name === 'duties.duty_days')
    assert.ok(days && days.rows > 0 && days.written === days.rows, first.stdout)

    const embedded = await openStores(data)
    await write({ duties: dutiesOnThisThread(embedded.duties), settings }, 40, 50)
    const stored = await everythingStored(contextOf(embedded, settings))
    await embedded.close()
    const second = await runCommand(['move', '--from', 'data'], { cwd, env })
    assert.match(second.stdout, /Moved: \d+ tables, \d+ rows, all verified.*\n$/, second.stderr)
    assert.ok((await readdir(data)).every((name) => !name.startsWith('moving')))
    const shared = await openStores(join(cwd, 'elsewhere'), { state: url })
    assert.deepEqual(await everythingStored(contextOf(shared, settings)), stored)
    await shared.close()
  })

  test('reports a missing target, folder or server', async () => {
    await using home = await openFolder()
    const { dir: cwd } = home
    const noTarget = await runCommand(['move', '--from', 'data'], { cwd })
    assert.deepEqual([noTarget.code, /No target\. Pass --to postgres/.test(noTarget.stderr)], [1, true])
    const otherKind = await runCommand(['move', '--from', 'data', '--to', 'mysql://127.0.0.1/x'], { cwd })
    assert.deepEqual([otherKind.code, /No target\. Pass --to postgres/.test(otherKind.stderr)], [1, true])
    const noFolder = await runCommand(['move', '--from', 'no', '--to', 'postgres://127.0.0.1:9/x'], { cwd })
    assert.deepEqual([noFolder.code, /no contains no state\.sqlite/.test(noFolder.stderr)], [1, true])
    await runCommand(['keys', 'create', '--name', 'a', '--plan', 'free'], { cwd })
    const unreachable = await runCommand(['move', '--to', 'postgres://me:hunter2@127.0.0.1:9/x'], { cwd })
    assert.equal(unreachable.code, 1)
    assert.match(unreachable.stderr, /PostgreSQL at 127\.0\.0\.1:9\/x cannot be reached/)
    assert.doesNotMatch(unreachable.stderr, /hunter2/)
  })
})
