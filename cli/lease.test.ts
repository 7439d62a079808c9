// Commands that ingest beside servers on one PostgreSQL, as child processes.
import assert from 'node:assert/strict'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { runWhileLeased } from '#ingest/lease.ts'
import { systemClock } from '#runtime/clock.ts'
import { silentLog } from '#runtime/log.ts'
import { systemRandom } from '#runtime/random.ts'
import { SimChain } from '#simulator/evm/chain.ts'
import { SimNode } from '#simulator/evm/node.ts'
import { openState } from '#storage/open.ts'
import { noPostgres, type PostgresServer, startPostgres } from '#test/postgres.ts'
import { openFolder, runCommand } from '#test/run-command.ts'

describe('beside servers on PostgreSQL', { skip: noPostgres }, () => {
  let server: PostgresServer
  before(async () => {
    server = await startPostgres()
  })
  after(() => server?.[Symbol.asyncDispose]())

  /** A folder with a chain of 20 blocks and a feed in its configuration, and a place on the server. */
  async function stage() {
    const home = await openFolder()
    const chain = new SimChain({ seed: 'turn', id: '77', finalLag: 6 })
    chain.mine(20)
    const node = new SimNode(chain)
    const config = {
      explorer: { chains: [{ id: '77', name: 'Sim', mode: 'index', rpc: [{ url: await node.listen() }] }] },
      markets: { feeds: [{ id: 'own', url: 'http://127.0.0.1:9/markets' }] },
      validators: { networks: { mainnet: { beacon: { urls: ['http://127.0.0.1:9'] } } } },
    }
    await writeFile(join(home.dir, 'tetrad.yaml'), JSON.stringify(config))
    await writeFile(join(home.dir, 'empty.json'), '[]')
    const place = await server.schema()
    return {
      place,
      run: (...args: string[]) => runCommand(args, { cwd: home.dir, env: { TETRAD_STORE_STATE: place } }),
      async [Symbol.asyncDispose]() {
        await node[Symbol.asyncDispose]()
        await home[Symbol.asyncDispose]()
      },
    }
  }

  /** What a server that ingests looks like to others. */
  async function holding(place: string, name: string) {
    const state = await openState('', { state: place })
    const stop = new AbortController()
    const begun = Promise.withResolvers<void>()
    const pace = { beatMs: 50, deadMs: 15_000, lookMs: 50 }
    const work = (signal: AbortSignal) => {
      begun.resolve()
      return new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve()))
    }
    const context = { state, clock: systemClock, random: systemRandom, log: silentLog }
    const ended = runWhileLeased(context, { name, work, pace }, stop.signal)
    await begun.promise
    let over: Promise<void> | undefined
    const end = () => {
      stop.abort()
      over ??= ended.then(() => state.close())
      return over
    }
    return { end, [Symbol.asyncDispose]: end }
  }

  test('each is refused while another process ingests the same, and says what to do', async () => {
    await using at = await stage()
    for (const [name, ...command] of [
      ['chains', 'ingest', 'evm', '--chain', '77', '--once'],
      ['chains', 'repair', '--chain', '77'],
      ['markets', 'ingest', 'markets'],
      ['beacon', 'ingest', 'beacon', '--once'],
      ['markets', 'import', 'markets', 'empty.json'],
    ] as const) {
      await using _held = await holding(at.place, name)
      const { code, stderr } = await at.run(...command)
      assert.equal(code, 1, stderr)
      assert.match(
        stderr,
        new RegExp(`^tetrad: Another process ingests ${name}; .*ingest\\.on.*--wait`, 'm'),
        command.join(' '),
      )
    }
  })

  test('nobody else: it ingests, and the next can; another ingester is in nobody’s way', async () => {
    await using at = await stage()
    await using _held = await holding(at.place, 'beacon')
    const first = await at.run('ingest', 'evm', '--chain', '77', '--once', '--json')
    assert.equal(first.code, 0, first.stderr)
    assert.ok(JSON.parse(first.stdout).blocks > 10)
    const second = await at.run('repair', '--chain', '77', '--json')
    assert.deepEqual([second.code, JSON.parse(second.stdout).blocks], [0, 0])
  })

  test('--wait: it begins when the other has stopped', async () => {
    await using at = await stage()
    await using held = await holding(at.place, 'chains')
    let isOver = false
    const waiting = at.run('ingest', 'evm', '--chain', '77', '--once', '--wait', '--json').then((ended) => {
      assert.ok(isOver, 'it did not wait')
      return ended
    })
    await systemClock.sleep(3000)
    isOver = true
    await held.end()
    const { code, stdout, stderr } = await waiting
    assert.equal(code, 0, stderr)
    assert.ok(JSON.parse(stdout).blocks > 10)
  })
})
