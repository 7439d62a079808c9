// Servers with one PostgreSQL database share snapshots, so that each can continue from the last one of the other.
import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { mkdir, mkdtempDisposable, readdir, readFile, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { currentLease, type HeldLease, leasedState } from '#ingest/leased-stores.ts'
import { systemClock } from '#runtime/clock.ts'
import { copyStores, databaseFiles } from '#storage/backup.ts'
import type { State } from '#storage/state.ts'
import { computedNetwork, computedTime } from '#test/computed-server.ts'
import { openContext } from '#test/context.ts'
import { makeChain } from '#test/made-chain.ts'
import { openMadeChainNode } from '#test/made-chain-node.ts'
import { noPostgres, openMigratedDatabase, type PostgresServer, startPostgres } from '#test/postgres.ts'
import { waitUntil } from '#test/wait-until.ts'
import { listSnapshots, snapshotFile } from '../../chain/snapshots.ts'
import { coveredEpochs } from '../../duties/coverage.ts'
import { withChainTimes } from '../read/chain-identity.ts'
import { startBeacon } from '../start.ts'
import { openSharedSnapshots, restoreSnapshot, storeSnapshot } from './shared-snapshots.ts'

const { signal } = new AbortController()
const network = computedNetwork
const folder = () => mkdtempDisposable(join(tmpdir(), 'tetrad-states-'))

describe('on PostgreSQL', { skip: noPostgres }, () => {
  let postgres: PostgresServer
  before(async () => {
    postgres = await startPostgres()
  })
  after(() => postgres[Symbol.asyncDispose]())

  test('a server without snapshots continues from that of the server before, and the node needs no state', async () => {
    await using database = await openMigratedDatabase(postgres.url)
    const ingest = leasedState(await database.open('state'))
    await using chain = await makeChain({ preset: 'minimal', validators: 64, slots: 26 * 8 })
    await using node = await openMadeChainNode(chain)
    node.states.set('genesis', await readFile(chain.stateFile))
    const beacon = { urls: [node.url], fromEpoch: 0, everyMs: 100 }
    await using plain = await openContext({
      validators: { networks: { [network]: { states: 'computed', ...computedTime, beacon } } },
    })
    const settings = await withChainTimes({ ...plain, clock: systemClock })
    const context = { ...plain, settings, ingest, clock: systemClock }
    const followUntil = async (finalized: number, dataDir: string, isDone: () => Promise<boolean>) => {
      node.finalized = finalized
      const stop = new AbortController()
      const running = startBeacon(context, stop.signal, () => {}, dataDir)
      await waitUntil(isDone).finally(() => stop.abort())
      await running
    }
    const storedEpoch = async () =>
      (await ingest.get<{ epoch: number }>('select epoch from chain_snapshots where network = ?', network))?.epoch ?? 0
    const end = async () => (await coveredEpochs(context.duties, network)).at(-1)?.until ?? 0
    await using first = await folder()
    await followUntil(18, first.path, async () => (await end()) === 17 && (await storedEpoch()) >= 8)
    assert((await storedEpoch()) < 17)
    node.states.clear()
    node.requests.length = 0
    await using second = await folder()
    await followUntil(22, second.path, async () => (await end()) === 21)
    assert.deepEqual(await coveredEpochs(context.duties, network), [{ from: 0, until: 21 }])
    assert.deepEqual(
      node.requests.filter((request) => request.includes('/debug/beacon/states/')),
      [],
    )
  })

  test('a former holder of the lease cannot replace the snapshot of its successor, nor a part of it', async () => {
    await using database = await openMigratedDatabase(postgres.url)
    const state = await database.open('state')
    await using former = await folder()
    await using successor = await folder()
    await using other = await folder()
    const put = async (path: string, epoch: number) => {
      const content = randomBytes(2.5 * 1024 * 1024)
      await writeFile(snapshotFile(path, epoch, root(epoch)), content)
      return content
    }
    const give = (holder: string, token: number) =>
      state.write(async (tx) => {
        await tx.run('delete from leases')
        await tx.run('insert into leases (name, holder, token, heartbeat) values (?, ?, ?, 0)', 'beacon', holder, token)
      })
    const as = <T>(holder: string, token: number, work: () => Promise<T>) =>
      currentLease.run(leaseOf(holder, token), work)
    const store = (ingest: State, path: string) =>
      storeSnapshot({ ingest: leasedState(ingest), network, folder: path, epochsPerDay: 8 }, signal)
    const restored = async () => {
      for (const { file } of await listSnapshots(other.path)) await writeFile(file, '')
      await restoreSnapshot({ ingest: state, network, folder: other.path }, signal)
      const [newest] = (await listSnapshots(other.path)).slice(-1)
      return newest && { ...newest, content: await readFile(newest.file) }
    }
    await give('former', 1)
    await put(former.path, 8)
    assert.equal(await as('former', 1, () => store(state, former.path)), true)
    await put(former.path, 12)
    assert.equal(await as('former', 1, () => store(state, former.path)), false, 'of the same day')
    const content = await put(successor.path, 20)
    // It loses the lease between two parts.
    await put(former.path, 30)
    let writes = 0
    const interrupted: State = {
      ...state,
      write: async (work, options) => {
        if (++writes === 3) {
          await give('successor', 2)
          await as('successor', 2, () => store(state, successor.path))
        }
        return state.write(work, options)
      },
    }
    await assert.rejects(
      as('former', 1, () => store(interrupted, former.path)),
      { name: 'LeaseLost' },
    )
    await assert.rejects(
      as('former', 1, () => store(state, former.path)),
      { name: 'LeaseLost' },
    )
    const found = await restored()
    assert.equal(found?.epoch, 20)
    assert.equal(found.stateRoot, root(20))
    assert.ok(found.content.equals(content))
    assert.deepEqual(await state.all('select epoch, part from chain_snapshot_parts order by epoch, part'), [
      { epoch: 20, part: 0 },
      { epoch: 20, part: 1 },
      { epoch: 20, part: 2 },
    ])
    assert.equal(await restoreSnapshot({ ingest: state, network, folder: successor.path }, signal), false, 'it has it')
  })

  test('a snapshot without all of its parts is not copied', async () => {
    await using database = await openMigratedDatabase(postgres.url)
    const ingest = await database.open('state')
    await using from = await folder()
    await using to = await folder()
    await writeFile(snapshotFile(from.path, 8, root(8)), randomBytes(2.5 * 1024 * 1024))
    await storeSnapshot({ ingest, network, folder: from.path, epochsPerDay: 8 }, signal)
    await ingest.write((tx) => tx.run('delete from chain_snapshot_parts where part = 1'))
    assert.equal(await restoreSnapshot({ ingest, network, folder: to.path }, signal), false)
    assert.deepEqual(await readdir(to.path), [])
  })
})

test('on SQLite, snapshots are files only, so that a backup and a move have none', async () => {
  await using context = await openContext()
  if (context.ingest.engine !== 'sqlite') return
  await using from = await folder()
  assert.equal(openSharedSnapshots(context, network, from.path, signal), undefined)
  const states = join(context.dir, 'beacon', network, 'states')
  await mkdir(states, { recursive: true })
  await writeFile(snapshotFile(states, 8, root(8)), 'a state')
  await copyStores(context.dir, context.ingest, join(from.path, 'backup'))
  assert.deepEqual((await readdir(join(from.path, 'backup'))).toSorted(), databaseFiles.toSorted())
})

const root = (epoch: number): string => `0x${String(epoch).padStart(64, '0')}`

const leaseOf = (holder: string, token: number): HeldLease => ({
  ...{ name: 'beacon', holder, token },
  expiryMs: 5000,
  lost: new AbortController(),
})
