import assert from 'node:assert/strict'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { contract } from '#api/contract/contract.ts'
import { createExplorerCaches } from '#explorer/context.ts'
import { systemClock } from '#runtime/clock.ts'
import { silentLog } from '#runtime/log.ts'
import { systemRandom } from '#runtime/random.ts'
import { demoSeed } from '#simulator/demo-seed.ts'
import { SimulatedChain } from '#simulator/evm/chain.ts'
import { openIngest } from '#storage/open.ts'
import { settingsWith } from '#test/context.ts'
import { loadDemoExplorer } from '#test/load-demo.ts'
import { openFolder, runCommand } from '#test/run-command.ts'
import { LimitedNode } from '#test/simulator/limited-node.ts'
import { copyEmptyStores } from '#test/template.ts'
import { coinText, treeOf } from './trail.ts'

const { input, reply } = contract['explorer.fundedBy'].example
const { address = '' } = input
const { result } = reply

test('prints the trail from the store, as JSON and as a tree', async () => {
  await using home = await openFolder()
  await copyEmptyStores(join(home.dir, 'data'))
  const state = await openIngest(join(home.dir, 'data'))
  const world = { settings: settingsWith(), clock: systemClock, random: systemRandom, log: silentLog }
  await loadDemoExplorer({ ingest: state, ...world, explorer: createExplorerCaches() }, demoSeed)
  await state.close()
  const { code, stdout, stderr } = await runCommand(['trail', address, '--chain', '1', '--json'], { cwd: home.dir })
  assert.deepEqual([code, stderr], [0, ''])
  const { hops, end } = JSON.parse(stdout)
  assert.deepEqual([hops.length, end.reason], [3, 'label'])
  const tree = await runCommand(['trail', address.toUpperCase().replace('0X', '0x')], { cwd: home.dir })
  assert.match(
    tree.stdout,
    new RegExp(`^${address}\n└─ ${result.fundingAddress}\n {3}paid 0\\.\\d+ ETH in block ${result.block}, `),
  )
  assert.match(tree.stdout, /\n {6}└─ 0x\w+ {2}.*Exchange: hot wallet \d+ \(.*95 %\)\n {9}paid /)
})

test('works with a node and without a data folder, and prints the confidence', async () => {
  const chain = new SimulatedChain({ seed: 'trail', id: '77', finalLag: 10 })
  chain.mine(60)
  await using node = new LimitedNode(chain, { traces: ['trace_block'] })
  // --chain is optional if only one chain is configured.
  const explorer = {
    chains: [{ id: '77', name: 'Simulated', rpc: [{ url: await node.listen() }] }],
  }
  await using home = await openFolder()
  await writeFile(join(home.dir, 'tetrad.yaml'), JSON.stringify({ explorer }))
  const unfunded = `0x${'99'.repeat(20)}`
  const tree = await runCommand(['trail', unfunded], { cwd: home.dir })
  assert.match(tree.stderr, /probed: found in an archive node/)
  const { coverage, end } = JSON.parse((await runCommand(['trail', unfunded, '--json'], { cwd: home.dir })).stdout)
  assert.deepEqual([coverage, end.reason], ['probed', 'none'])
})

test('prints when a retry may get further', async () => {
  await using home = await openFolder()
  const chains = [{ id: '1', name: 'Gone', rpc: [{ url: 'http://127.0.0.1:9' }] }]
  // Refused connections end the search after a second, long before this limit, also on a busy machine.
  const explorer = { chains, probe: { timeoutMs: 60_000 } }
  await writeFile(join(home.dir, 'tetrad.yaml'), JSON.stringify({ explorer }))
  await copyEmptyStores(join(home.dir, 'data'))
  const tree = await runCommand(['trail', address], { cwd: home.dir })
  assert.equal(tree.code, 3)
  assert.match(tree.stdout, /\nunknown {2}/)
  assert.match(tree.stderr, /try again in 5 s\.$/m)
  assert.match(tree.stderr, /^Cause: .*127\.0\.0\.1:9.*ECONNREFUSED/m)
  const { retryAfterMs, cause } = JSON.parse((await runCommand(['trail', address, '--json'], { cwd: home.dir })).stdout)
  assert.equal(retryAfterMs, 5000)
  assert.match(cause, /ECONNREFUSED/)
})

test('prints that a node is on another chain', async () => {
  const chain = new SimulatedChain({ seed: 'trail', id: '1', finalLag: 10 })
  chain.mine(20)
  await using node = new LimitedNode(chain, { traces: ['trace_block'] })
  const explorer = { chains: [{ id: '137', name: 'Wrong', rpc: [{ url: await node.listen() }] }] }
  await using home = await openFolder()
  await writeFile(join(home.dir, 'tetrad.yaml'), JSON.stringify({ explorer }))
  const { code, stderr } = await runCommand(['trail', address], { cwd: home.dir })
  assert.equal(code, 3)
  assert.match(stderr, /^Cause: .* is on chain 1, not 137/m)
})

test('1: a missing folder is an error', async () => {
  await using home = await openFolder()
  assert.match((await runCommand(['trail', address], { cwd: home.dir })).stderr, /Data folder data does not exist/)
})

test('1: a chain that is not configured is an error', async () => {
  await using home = await openFolder()
  const { code, stderr } = await runCommand(['trail', address, '--chain', '5'], { cwd: home.dir })
  const words = 'tetrad: Chain 5 is not in explorer.chains (1, 137). Choose one with --chain.\n'
  assert.deepEqual([code, stderr], [1, words])
})

test('2: a depth above the limit is an error', async () => {
  await using home = await openFolder()
  const { code, stderr } = await runCommand(['trail', address, '--depth', '101'], { cwd: home.dir })
  assert.equal(code, 2)
  assert.match(stderr, /It must be 1 to 100/)
})

test('the tree shows each funder with its payment, then the reason for the end', () => {
  const hop = { block: 5, timeStamp: '1700000000', fundingTxn: '0xfe', value: '1' }
  const tree = treeOf({
    chainid: '1',
    address: '0xa',
    hops: [
      { ...hop, address: '0xa', fundingAddress: '0xb' },
      { ...hop, address: '0xb', fundingAddress: '0xc', label: { name: 'Cee', source: 'own', confidence: 9 } },
    ],
    end: { reason: 'label', address: '0xc', message: 'Cee' },
  })
  assert.equal(
    tree,
    [
      '0xa',
      '└─ 0xb',
      '   paid 0.000000000000000001 ETH in block 5, 2023-11-14 22:13, 0xfe',
      '   └─ 0xc  Cee (own, 9 %)',
      '      paid 0.000000000000000001 ETH in block 5, 2023-11-14 22:13, 0xfe',
      '',
      'label  Cee',
    ].join('\n'),
  )
})

for (const [wei, text] of [
  ['0', '0'],
  ['1500000000000000000', '1.5'],
  ['1000000000000000000', '1'],
  ['123456789012345678901234567', '123456789.012345678901234567'],
] as const) {
  test(`${wei} wei is ${text} of the coin`, () => assert.equal(coinText(wei, '1'), `${text} ETH`))
}

test('2: an address that is not one', async () => {
  await using home = await openFolder()
  const { code, stdout, stderr } = await runCommand(['trail', '0xabc'], { cwd: home.dir })
  assert.deepEqual([code, stdout], [2, ''])
  assert.match(stderr, /0xabc.*must be 0x and 40 hexadecimal digits/)
  const json = await runCommand(['trail', '0xabc', '--json'], { cwd: home.dir })
  assert.deepEqual([json.code, JSON.parse(json.stderr).error.code], [2, 'usage'])
})

test('amounts have the unit of the chain; the coin of an unknown chain has no name', () => {
  assert.equal(coinText('1000000000000000000', '1'), '1 ETH')
  assert.equal(coinText('1500000000000000000', '137'), '1.5 POL')
  assert.equal(coinText('1', '424242'), '0.000000000000000001 coins')
})
