// An index that reads blocks after the Amsterdam fork from logs: the same rows as from traces, and what happens if logs
// contradict a block.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type ChainNode, openNode } from '#explorer/nodes.ts'
import { coverageReport } from '#operations/coverage.ts'
import { systemClock } from '#runtime/clock.ts'
import type { SimulatedChain } from '#simulator/evm/chain.ts'
import { coverageOf } from '#storage/coverage.ts'
import { openContext, type TestContext } from '#test/context.ts'
import { seedsOf } from '#test/long.ts'
import { type AmsterdamOptions, createAmsterdamChain } from '#test/simulator/amsterdam.ts'
import { LimitedNode, type SimulatedCapabilities } from '#test/simulator/limited-node.ts'
import { blocksStream } from '../chain-coverage.ts'
import { forgetFrom } from './forget.ts'
import { catchUpIndex, repairIndex } from './index-chain.ts'
import { getIndexProblems } from './problems.ts'
import { chainFindings, reportIndexProblems } from './start-chains.ts'
import { logsStream } from './transfer-logs.ts'

// biome-ignore lint/suspicious/noExplicitAny: tests change answers of any form
type Any = any

const fork = 20

const chainOf = (seed: number | string, amsterdamFrom = fork, options?: AmsterdamOptions) => {
  // A payment in the newest block shows that the chain has logs.
  const payments = [58, 59, 60].map((block) => ({ block, account: 1, ether: 1 }))
  const history = { seed: `logs ${seed}`, finalLag: 10, busy: 6, payments, amsterdamFrom }
  const chain = createAmsterdamChain(history, options)
  chain.mine(60)
  return chain
}

class AlteringNode extends LimitedNode {
  alter: ((method: string, result: Any, params: readonly unknown[]) => Any) | undefined

  protected override resultOf(method: string, params: readonly unknown[]): unknown {
    const result = super.resultOf(method, params)
    return this.alter?.(method, structuredClone(result), params) ?? result
  }
}

async function openIndex(chain: SimulatedChain, capabilities: SimulatedCapabilities) {
  const simulated = new AlteringNode(chain, capabilities)
  const url = await simulated.listen()
  const context = await openContext({
    explorer: {
      chains: [{ id: '1', name: 'Simulated', mode: 'index', rpc: [{ url, batchMax: 4 }] }],
      index: { rangeBlocks: 7 },
    },
  })
  const [settings] = context.settings.explorer.chains
  assert.ok(settings)
  const real = { ...context, clock: systemClock }
  const node = openNode(settings, real, { backoffMs: 0 })
  real.explorer.nodes.set('1', node)
  return {
    simulated,
    context: real,
    node,
    catchUp: () => catchUpIndex(real, node, () => {}),
    async [Symbol.asyncDispose]() {
      await simulated[Symbol.asyncDispose]()
      await context[Symbol.asyncDispose]()
    },
  }
}

const rowsOf = async ({ ingest }: Pick<TestContext, 'ingest'>) => ({
  final: await ingest.all('select * from fundings order by address'),
  unfinalized: await ingest.all('select * from unfinalized_fundings order by block, tx_index, position'),
})

const traced: SimulatedCapabilities = { traces: ['trace_block'] }
const both: SimulatedCapabilities = { traces: ['trace_block'], receipts: true, accessLists: true }
const loggedOnly: SimulatedCapabilities = { traces: [], receipts: true, accessLists: true }

test('logs and traces give the same rows, also after a reorganisation, and the coverage has the blocks of both', async () => {
  for (const seed of seedsOf(30, 6)) {
    const chain = chainOf(seed)
    await using byTraces = await openIndex(chain, traced)
    await using byLogs = await openIndex(chain, both)
    for (const change of [() => {}, () => chain.reorg(6, 4), () => chain.mine(20)]) {
      change()
      await byTraces.catchUp()
      await byLogs.catchUp()
      assert.deepEqual(await rowsOf(byLogs.context), await rowsOf(byTraces.context), `seed ${seed}`)
      const until = chain.head.number + 1
      assert.deepEqual(await coverageOf(byLogs.context.ingest, logsStream('1')), [{ from: fork, until }])
    }
    assert.deepEqual(await coverageOf(byTraces.context.ingest, logsStream('1')), [])
    await forgetFrom(byLogs.context.ingest, '1', 40)
    assert.deepEqual(await coverageOf(byLogs.context.ingest, logsStream('1')), [{ from: fork, until: 40 }])
  }
})

test('a node without traces is enough for a chain that begins after the fork', async () => {
  const chain = chainOf('no traces', 0)
  await using byTraces = await openIndex(chain, traced)
  await using byLogs = await openIndex(chain, loggedOnly)
  await byTraces.catchUp()
  await byLogs.catchUp()
  assert.deepEqual(await rowsOf(byLogs.context), await rowsOf(byTraces.context))
  assert.ok((await rowsOf(byLogs.context)).final.length > 10)
})

test('without traces, blocks from before the fork are not indexed, and the error says why', async () => {
  await using at = await openIndex(chainOf('before'), loggedOnly)
  await assert.rejects(at.catchUp(), /from before the Amsterdam fork, and no node supports traces/)
  const rows = (await rowsOf(at.context)).final as { block: number }[]
  assert.ok(rows.every(({ block }) => block >= fork))
})

/** The problem is in /readyz, the doctor and the coverage. */
async function assertReported({ context }: { context: Any }, pattern: RegExp): Promise<void> {
  const finding = (await chainFindings(context)).find(({ name }) => name === 'index of chain 1')
  assert.match(finding?.message ?? 'no finding', pattern)
  assert.match(JSON.stringify(await reportIndexProblems(context)), pattern)
  const [stream] = (await coverageReport(context)).streams.filter(({ name }) => name === 'chain 1')
  assert.match(stream?.problem ?? JSON.stringify(stream?.gaps), pattern)
}

const system = `0x${'f'.repeat(39)}e`

test('a block whose receipts are altered is read from traces, and reported', async () => {
  const chain = chainOf('altered')
  const block = chain.blocks.find(({ number, transfers }) => number > fork && number < 45 && transfers.length > 2)
  assert.ok(block)
  const alter = (method: string, result: Any, params: readonly unknown[]) => {
    if (method !== 'eth_getBlockReceipts' || Number(params[0]) !== block.number) return
    const receipt = result.find(({ logs }: Any) => logs.some(({ address }: Any) => address === system))
    receipt.logs.splice(0, 1)
    return result
  }
  await using byTraces = await openIndex(chain, traced)
  await using byLogs = await openIndex(chain, both)
  byLogs.simulated.alter = alter
  await byTraces.catchUp()
  await byLogs.catchUp()
  assert.deepEqual(await rowsOf(byLogs.context), await rowsOf(byTraces.context))
  await assertReported(byLogs, new RegExp(`last block ${block.number}: .*receiptsRoot`))
  const logged = await coverageOf(byLogs.context.ingest, logsStream('1'))
  assert.ok(!logged.some(({ from, until }) => from <= block.number && block.number < until))
  // Without traces, the block is left out.
  const begun = chainOf('altered', 0)
  await using alone = await openIndex(begun, loggedOnly)
  const other = begun.blocks.find(({ number, transfers }) => number > 0 && number < 45 && transfers.length > 2)
  assert.ok(other)
  alone.simulated.alter = (method, result, params) =>
    alter(method, result, [Number(params[0]) === other.number ? block.number : 0])
  await alone.catchUp()
  const { number } = other
  assert.deepEqual(await coverageOf(alone.context.ingest, blocksStream('1')), [
    { from: 0, until: number },
    { from: number + 1, until: begun.final + 1 },
  ])
  await assertReported(alone, new RegExp(`${number}.*receiptsRoot`))
  alone.simulated.alter = undefined
  await repairIndex(alone.context, alone.node as ChainNode, { from: 0, until: 100 }, () => {})
  assert.deepEqual(await coverageOf(alone.context.ingest, blocksStream('1')), [{ from: 0, until: begun.final + 1 }])
})

test('logs that lack internal transfers consistently are found by access lists, and the blocks read from traces', async () => {
  const chain = chainOf('omitted', fork, { omitsLogs: 'internal' })
  await using byTraces = await openIndex(chain, traced)
  await using byLogs = await openIndex(chain, both)
  assert.equal((await byLogs.node.capabilities()).logs, 'eth_getBlockReceipts')
  await byTraces.catchUp()
  await repairIndex(byLogs.context, byLogs.node as ChainNode, { from: 0, until: 100 }, () => {})
  assert.deepEqual((await rowsOf(byLogs.context)).final, (await rowsOf(byTraces.context)).final)
  await assertReported(byLogs, /the access list and the logs differ about the balance/)
})

test('headers with a new field are read and reported, but an altered header of a known form is not read', async () => {
  const chain = chainOf('new field', fork, { hasNewField: true })
  await using byTraces = await openIndex(chain, traced)
  await using byLogs = await openIndex(chain, both)
  await byTraces.catchUp()
  await byLogs.catchUp()
  assert.deepEqual(await rowsOf(byLogs.context), await rowsOf(byTraces.context))
  const count = chain.head.number + 1 - fork
  await assertReported(byLogs, new RegExp(`header hash not verified of ${count} blocks, .*; last block 60`))
  const [stream] = (await coverageReport(byLogs.context as never)).streams.filter(({ name }) => name === 'chain 1')
  assert.equal(stream?.logs?.unverifiedHeaders, count)

  await using altered = await openIndex(chainOf('known fields'), both)
  const at = fork + 5
  altered.simulated.alter = (method, result, params) =>
    method === 'eth_getBlockByNumber' && Number(params[0]) === at
      ? Object.assign(result, { timestamp: '0x1' })
      : undefined
  await altered.catchUp()
  await assertReported(altered, new RegExp(`block ${at}, .*the header does not have the hash of the block`))
  assert.equal(getIndexProblems(altered.context, '1').unverifiedHeaders, undefined)
})

test('an access list that does not have the hash of the header is a contradiction; one that is not there is none', async () => {
  for (const isContradiction of [true, false]) {
    const chain = chainOf('lists')
    await using at = await openIndex(chain, both)
    await at.node.capabilities()
    at.simulated.alter = (method, result) => (method === 'eth_getBlockAccessList' ? result.reverse() : undefined)
    if (!isContradiction) at.simulated.capabilities = { ...both, accessLists: false }
    await at.catchUp()
    if (isContradiction) await assertReported(at, /blockAccessListHash/)
    const logged = await coverageOf(at.context.ingest, logsStream('1'))
    assert.equal(logged.length > 0, !isContradiction)
  }
})
