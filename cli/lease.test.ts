// Ingest commands next to servers on one PostgreSQL.
import assert from 'node:assert/strict'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { runWhileLeased } from '#ingest/lease.ts'
import { systemClock } from '#runtime/clock.ts'
import { silentLog } from '#runtime/log.ts'
import { systemRandom } from '#runtime/random.ts'
import { SimulatedChain } from '#simulator/evm/chain.ts'
import { openState } from '#storage/open.ts'
import { noPostgres, type PostgresServer, startPostgres } from '#test/postgres.ts'
import { openFolder, runCommand } from '#test/run-command.ts'
import { LimitedNode } from '#test/simulator/limited-node.ts'

describe('ingest commands on PostgreSQL', { skip: noPostgres }, () => {
  let server: PostgresServer
  before(async () => {
    server = await startPostgres()
  })
  after(() => server?.[Symbol.asyncDispose]())

  /** A folder whose configuration has a chain of 20 blocks and a feed, and a schema on the server. */
  async function openSetup() {
    const home = await openFolder()
    const chain = new SimulatedChain({ seed: 'turn', id: '77', finalLag: 6 })
    chain.mine(20)
    const node = new LimitedNode(chain)
    const config = {
      explorer: { chains: [{ id: '77', name: 'Simulated', mode: 'index', rpc: [{ url: await node.listen() }] }] },
      markets: { feeds: [{ id: 'own', url: 'http://127.0.0.1:9/markets' }] },
      validators: { networks: { mainnet: { beacon: { urls: ['http://127.0.0.1:9'] } } } },
    }
    await writeFile(join(home.dir, 'tetrad.yaml'), JSON.stringify(config))
    await writeFile(join(home.dir, 'empty.json'), '[]')
    const url = await server.schema()
    return {
      url,
      run: (...args: string[]) => runCommand(args, { cwd: home.dir, env: { TETRAD_STORE_STATE: url } }),
      async [Symbol.asyncDispose]() {
        await node[Symbol.asyncDispose]()
        await home[Symbol.asyncDispose]()
      },
    }
  }

  /** Holds a lease, as an ingesting server does. */
  async function holdLease(url: string, name: string) {
    const state = await openState('', { state: url })
    const stop = new AbortController()
    const started = Promise.withResolvers<void>()
    const pace = { heartbeatMs: 50, expiryMs: 15_000, checkMs: 50 }
    const work = (signal: AbortSignal) => {
      started.resolve()
      return new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve()))
    }
    const context = { ingest: state, clock: systemClock, random: systemRandom, log: silentLog }
    const ended = runWhileLeased(context, { name, work, pace }, stop.signal)
    await started.promise
    let released: Promise<void> | undefined
    const end = () => {
      stop.abort()
      released ??= ended.then(() => state.close())
      return released
    }
    return { end, [Symbol.asyncDispose]: end }
  }

  test('are refused while another process holds the lease, and say what to do', async () => {
    await using setup = await openSetup()
    for (const [name, ...command] of [
      ['chains', 'ingest', 'evm', '--chain', '77', '--once'],
      ['chains', 'repair', '--chain', '77'],
      ['markets', 'ingest', 'markets'],
      ['beacon', 'ingest', 'beacon', '--once'],
      ['markets', 'import', 'markets', 'empty.json'],
    ] as const) {
      await using _held = await holdLease(setup.url, name)
      const { code, stderr } = await setup.run(...command)
      assert.equal(code, 1, stderr)
      assert.match(
        stderr,
        new RegExp(`^tetrad: Another process is ingesting ${name}\\. .*ingest\\.enabled.*--wait`, 'm'),
        command.join(' '),
      )
    }
  })

  test('release the lease at the end, and do not need the leases of other ingesters', async () => {
    await using setup = await openSetup()
    await using _held = await holdLease(setup.url, 'beacon')
    const first = await setup.run('ingest', 'evm', '--chain', '77', '--once', '--json')
    assert.equal(first.code, 0, first.stderr)
    assert.ok(JSON.parse(first.stdout).blocks > 10)
    const second = await setup.run('repair', '--chain', '77', '--json')
    assert.deepEqual([second.code, JSON.parse(second.stdout).blocks], [0, 0])
  })

  test('start with --wait when the other process has stopped', async () => {
    await using setup = await openSetup()
    await using held = await holdLease(setup.url, 'chains')
    let isReleased = false
    const waiting = setup.run('ingest', 'evm', '--chain', '77', '--once', '--wait', '--json').then((ended) => {
      assert.ok(isReleased, 'it did not wait')
      return ended
    })
    await systemClock.sleep(3000)
    isReleased = true
    await held.end()
    const { code, stdout, stderr } = await waiting
    assert.equal(code, 0, stderr)
    assert.ok(JSON.parse(stdout).blocks > 10)
  })
})
