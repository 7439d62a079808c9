// `tetrad ingest evm`, `coverage`, `repair` and `chains` as child processes, against a simulated node over HTTP.
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { SimulatedChain } from '#simulator/evm/chain.ts'
import { openIngest } from '#storage/open.ts'
import { launcher, openFolder, runCommand } from '#test/run-command.ts'
import { createAmsterdamChain } from '#test/simulator/amsterdam.ts'
import { LimitedNode } from '#test/simulator/limited-node.ts'
import { describeLogs } from './coverage.ts'

/** With a small `finalityBlocks`, the chain may still replace blocks that count as final. */
async function stage(blocks: number, { finalLag = 6, finalityBlocks = 0, mode = 'index', amsterdamFrom = 0 } = {}) {
  const home = await openFolder()
  const options = { seed: 'ingest', id: '77', finalLag }
  const payments = [{ block: blocks, account: 1, ether: 1 }]
  const chain = amsterdamFrom
    ? createAmsterdamChain({ ...options, amsterdamFrom, payments })
    : new SimulatedChain(options)
  chain.mine(blocks)
  const node = new LimitedNode(chain, { traces: ['trace_block'], receipts: amsterdamFrom > 0 })
  const url = await node.listen()
  const config = {
    explorer: {
      chains: [{ id: '77', name: 'Simulated', mode, finalityBlocks, rpc: [{ url, batchMax: 4 }] }],
      index: { rangeBlocks: 5, parallel: 3 },
    },
  }
  await writeFile(join(home.dir, 'tetrad.yaml'), JSON.stringify(config))
  return {
    ...{ home, chain, node },
    run: (...args: string[]) => runCommand(args, { cwd: home.dir }),
    async [Symbol.asyncDispose]() {
      await node[Symbol.asyncDispose]()
      await home[Symbol.asyncDispose]()
    },
  }
}

async function contents(dir: string): Promise<object> {
  const state = await openIngest(dir)
  const all = (table: string, order: string) => state.all(`select * from ${table} order by ${order}`)
  const found = {
    fundings: await all('fundings', 'chain, address'),
    unfinalized: await all('unfinalized_fundings', 'chain, address, block'),
    unfinalizedBlocks: await all('unfinalized_blocks', 'chain, block'),
    coverage: await all('coverage', 'stream, from_at'),
    heads: await state.all('select chain, final_until from chain_heads order by chain'),
    boundaries: await all('range_boundaries', 'chain, at'),
  }
  await state.close()
  return found
}

test('an ingest that is killed repeatedly ends with the same rows as a clean run', async () => {
  await using at = await stage(240)
  const { home, node, chain } = at
  const clean = await at.run('ingest', 'evm', '--chain', '77', '--once', '--data', 'clean', '--json')
  assert.equal(clean.code, 0, clean.stderr)
  assert.equal(JSON.parse(clean.stdout).blocks, chain.final + 1)
  let kills = 0
  // The first rows are written after eight ranges, which take about forty requests. All ranges take more than these.
  for (const requests of [25, 60, 100]) {
    const startRounds = node.rounds
    const args = [launcher, 'ingest', 'evm', '--chain', '77', '--data', 'killed']
    const child = spawn(process.execPath, args, { cwd: home.dir, stdio: 'ignore', detached: true })
    const ended = new Promise((resolve) => child.on('exit', resolve))
    node.meanwhile = () => {
      // The launcher has a child process, so kill the whole group.
      if (node.rounds - startRounds >= requests && child.exitCode === null && child.pid !== undefined) {
        process.kill(-child.pid, 'SIGKILL')
        node.meanwhile = undefined
        kills += 1
      }
    }
    await ended
  }
  assert.equal(kills, 3)
  const last = await at.run('ingest', 'evm', '--chain', '77', '--once', '--data', 'killed', '--json')
  assert.equal(last.code, 0, last.stderr)
  const left = JSON.parse(last.stdout).blocks
  assert.ok(left > 0 && left < chain.final + 1, `the last run still had to read ${left} blocks, and not all`)
  assert.deepEqual(await contents(join(home.dir, 'killed')), await contents(join(home.dir, 'clean')))
})

test('a block that no node can trace is reported and left out, with exit code 3', async () => {
  await using at = await stage(60)
  const { chain, node } = at
  const call = chain.blocks
    .flatMap(({ number, transactions }) => transactions.map(({ hash, to }) => ({ number, hash, to })))
    .find(({ number, to }) => number > 5 && to !== null && chain.accountAt(to, number - 1).code !== '0x')
  assert.ok(call)
  node.capabilities = { traces: ['trace_block'], untraceable: (hash) => hash === call.hash }
  const partly = await at.run('ingest', 'evm', '--once')
  assert.equal(partly.code, 3, partly.stderr)
  assert.match(partly.stderr, new RegExp(`^tetrad: block ${call.number} cannot be read: .*execution timeout`, 'm'))
  assert.match(partly.stderr, /^tetrad: 1 block left out\. Add a node .* tetrad repair --chain 77$/m)
  node.capabilities = { traces: ['trace_block'], malformed: (hash) => hash === call.hash }
  const repaired = await at.run('repair', '--json')
  assert.equal(repaired.code, 3, repaired.stderr)
  const reason = `block ${call.number} cannot be read: transaction \\d+ \\(${call.hash}\\): .*a call is incomplete`
  assert.match(repaired.stderr, new RegExp(`^tetrad: ${reason}`, 'm'))
  assert.equal(JSON.parse(repaired.stdout).leftOut, 1)
  node.capabilities = { traces: ['trace_block'] }
  assert.equal((await at.run('repair')).code, 0)
})

test('after a change below finalized blocks, --forget-from restores the rows of a clean run', async () => {
  await using at = await stage(60, { finalLag: 40, finalityBlocks: 6 })
  const { chain, home } = at
  assert.equal((await at.run('ingest', 'evm', '--once')).code, 0)
  const final = chain.head.number - 6
  chain.reorg(14, 20)
  assert.equal(chain.head.number, 66)
  const refused = await at.run('repair')
  assert.equal(refused.code, 1)
  assert.match(
    refused.stderr,
    new RegExp(`^tetrad: .* block ${final} of the node differs from the finalized block .*--forget-from`),
  )
  const unasked = await at.run('repair', '--forget-from', '40')
  assert.deepEqual([unasked.code, /Confirm with --yes/.test(unasked.stderr)], [1, true])
  const late = await at.run('repair', '--forget-from', String(final), '--yes')
  assert.equal(late.code, 1)
  assert.match(late.stderr, /differs from the indexed one\. Choose a lower block, or 0/)
  const again = await at.run('repair', '--forget-from', '40', '--yes', '--json')
  assert.equal(again.code, 0, again.stderr)
  assert.match(
    again.stderr,
    /^chain 77: \d+ blocks and \d+ first fundings? from block (40 on|3\d on \(the newest stored funding before block 40\)) removed/,
  )
  assert.equal((await at.run('ingest', 'evm', '--once')).code, 0)
  assert.equal((await at.run('ingest', 'evm', '--once', '--data', 'clean')).code, 0)
  assert.deepEqual(await contents(join(home.dir, 'data')), await contents(join(home.dir, 'clean')))
})

test('ingest reports the number of first fundings written', async () => {
  await using at = await stage(120)
  const { stdout } = await at.run('ingest', 'evm', '--once', '--json')
  const { fundings } = (await contents(join(at.home.dir, 'data'))) as { fundings: unknown[] }
  // A row that an earlier one replaced counts as well.
  assert.ok(JSON.parse(stdout).rows >= fundings.length && fundings.length > 0, stdout)
})

test('in mode probe, repair --forget-from removes blocks and reads nothing', async () => {
  await using at = await stage(40, { mode: 'probe' })
  assert.equal((await at.run('ingest', 'evm', '--once')).code, 0)
  const { code, stdout, stderr } = await at.run('repair', '--forget-from', '10', '--yes', '--json')
  assert.deepEqual([code, JSON.parse(stdout).blocks], [0, 0], stderr)
  assert.match(stderr, /chain 77: nothing is read again, because the mode is probe/)
  const state = await openIngest(join(at.home.dir, 'data'))
  assert.deepEqual(await state.all('select confirmed_ms from chain_heads'), [{ confirmed_ms: 0 }])
  await state.close()
})

test('2: repair rejects an empty range, and a range together with --forget-from', async () => {
  await using at = await stage(5)
  for (const [args, message] of [
    [['--from', '500', '--until', '100'], /--from 500 must be less than --until 100/],
    [['--from', '1', '--forget-from', '2'], /cannot be combined with --from and --until/],
  ] as const) {
    const { code, stderr } = await at.run('repair', ...args)
    assert.equal(code, 2)
    assert.match(stderr, message)
  }
})

test('coverage lists gaps and exits with 1; repair fills them', async () => {
  await using at = await stage(60)
  const first = await at.run('repair', '--chain', '77', '--from', '20', '--until', '30', '--json')
  assert.equal(first.code, 0, first.stderr)
  const holed = await at.run('coverage', '--chain', '77', '--json')
  const { final } = at.chain
  assert.equal(holed.code, 1)
  assert.deepEqual(JSON.parse(holed.stdout)[0].gaps, [{ from: 0, until: 20 }])
  assert.match((await at.run('repair')).stdout, /^chain 77: \d+ final blocks indexed/)
  const filled = await at.run('coverage', '--json')
  assert.deepEqual(
    [filled.code, JSON.parse(filled.stdout)[0].gaps, JSON.parse(filled.stdout)[0].read],
    [0, [], final + 1],
  )
  assert.match((await at.run('coverage')).stdout, /100\.00 %.*Fresh and without gaps/s)
  const unknown = await at.run('coverage', '--chain', '78')
  assert.deepEqual([unknown.code, unknown.stdout], [1, ''])
  assert.match(unknown.stderr, /Chain 78 is not in explorer\.chains \(77\)\./)
})

test('chains shows the capabilities of the nodes and what missing ones cost', async () => {
  await using at = await stage(5)
  at.node.capabilities = { traces: ['debug_traceTransaction'], stateBlocks: 2 }
  const { code, stdout, stderr } = await at.run('chains')
  assert.equal(code, 0, stderr)
  assert.match(stdout, /77 +Simulated +index +http:\/\/127\.0\.0\.1:\d+ +5 +no +no +yes +no +no +no +no +no +no +yes/)
  assert.match(stderr, /one call per transaction/)
  at.node.capabilities = { traces: ['debug_traceTransaction'], ignoresTracer: true }
  const ignoring = await at.run('chains')
  assert.match(ignoring.stdout, /http:\/\/127\.0\.0\.1:\d+ +5 +no +no +no +no/)
  assert.match(ignoring.stderr, /no traces \(no call traces from debug_traceTransaction\)/)
})

test('1: a node on another chain is rejected with its chain id', async () => {
  await using at = await stage(5)
  at.node.chainId = '78'
  for (const args of [['chains'], ['ingest', 'evm', '--once'], ['repair']]) {
    const { code, stderr } = await at.run(...args)
    assert.equal(code, 1)
    assert.match(stderr, /is on chain 78, not 77: refused/)
    assert.doesNotMatch(stderr, /retrying/)
  }
})

test('1: a chain without traces cannot be indexed, and the error says why', async () => {
  await using at = await stage(5)
  at.node.capabilities = { traces: [] }
  const { code, stderr } = await at.run('ingest', 'evm', '--chain', '77', '--once')
  assert.equal(code, 1)
  assert.match(stderr, /internal transfers would be missing/)
})

test('1: a chain that is not configured is an error', async () => {
  await using at = await stage(1)
  const { code, stderr } = await at.run('ingest', 'evm', '--chain', '5', '--once')
  assert.deepEqual([code, stderr], [1, 'tetrad: Chain 5 is not in explorer.chains (77). Choose one with --chain.\n'])
})

test('coverage and chains say which blocks are read from logs', async () => {
  await using at = await stage(60, { amsterdamFrom: 20 })
  assert.match((await at.run('chains')).stdout, /transfer logs/)
  const read = await at.run('ingest', 'evm', '--chain', '77', '--once', '--json')
  assert.equal(read.code, 0, read.stderr)
  const { stdout } = await at.run('coverage', '--chain', '77')
  assert.match(stdout, /^chain 77: 41 blocks read from logs \(20-60\), others from traces$/m)
})

test('coverage names blocks that were not read from logs, and headers that were not verified', () => {
  const none = { blocks: 0, ranges: [], contradicted: 0, unverifiedHeaders: 0 }
  assert.deepEqual(describeLogs(none), [])
  assert.deepEqual(describeLogs({ ...none, contradicted: 1, unverifiedHeaders: 2 }), [
    '1 block not read from logs, because they are contradictory',
    'header hash of 2 blocks not verified: unknown fields',
  ])
  const ranges = Array.from({ length: 12 }, (_, at) => ({ from: 10 * at, until: 10 * at + 2 }))
  assert.match(
    describeLogs({ ...none, blocks: 24, ranges })[0] ?? '',
    /^24 blocks read from logs \(0-1, .*, 90-91, …\)/,
  )
})
