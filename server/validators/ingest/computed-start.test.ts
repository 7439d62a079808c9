// The first state of a network whose states are computed: a checkpoint, what proves it, and nodes with other rules. Also
// chains that are not final for long.
import assert from 'node:assert/strict'
import { copyFile, mkdtempDisposable, readFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { coverageReport } from '#operations/coverage.ts'
import { systemClock } from '#runtime/clock.ts'
import type { AppContext } from '#server/context.ts'
import { computedNetwork, computedTime, openComputedServer } from '#test/computed-server.ts'
import { openContext } from '#test/context.ts'
import { makeChain, type OpenedChain } from '#test/made-chain.ts'
import { openMadeChainNode } from '#test/made-chain-node.ts'
import { storedRows } from '#test/stored-duties.ts'
import { waitUntil } from '#test/wait-until.ts'
import { coveredEpochs } from '../duties/coverage.ts'
import { withChainTimes } from './read/chain-identity.ts'
import { beaconFindings, startBeacon } from './start.ts'

const { signal } = new AbortController()
const slotsPerEpoch = 8
const epochs = 36

/** For twenty epochs, more than two days of the test, nobody votes. So they are final much later. */
let chain: OpenedChain

before(async () => {
  const withoutVotes = [5 * slotsPerEpoch, 25 * slotsPerEpoch] as const
  chain = await makeChain({ ...{ preset: 'minimal', validators: 64 }, slots: epochs * slotsPerEpoch, withoutVotes })
})
after(() => chain[Symbol.asyncDispose]())

const states = () => mkdtempDisposable(join(tmpdir(), 'tetrad-states-'))

test('epochs that are final days later have the same figures, although their blocks are not kept', async () => {
  await using node = await openMadeChainNode(chain)
  node.states.set('genesis', await readFile(chain.stateFile))
  const rows: unknown[] = []
  for (const aheadMax of [100, 4]) {
    await using folder = await states()
    await using server = await openComputedServer([node.url])
    await using opened = await server.open({ folder: folder.path, aheadMax })
    node.requests.length = 0
    for (const finalized of [2, epochs - 4]) {
      node.finalized = finalized
      await opened.follower.catchUp(signal)
    }
    assert.deepEqual(await coveredEpochs(server.context.duties, computedNetwork), [{ from: 0, until: epochs - 5 }])
    rows.push(await storedRows(opened.context, computedNetwork, 'hours'))
    const requests = node.requests.filter((request) => request.endsWith('/blocks/100')).length
    assert.equal(requests, aheadMax === 4 ? 2 : 1, 'without keeping blocks, they are read twice')
  }
  assert.deepEqual(rows[1], rows[0])
})

test('without fromEpoch, the epochs after the one that is final at the start are stored as they become final', async () => {
  await using node = await openMadeChainNode(chain)
  node.states.set('genesis', await readFile(chain.stateFile))
  await using folder = await states()
  await using server = await openComputedServer([node.url], -1)
  await using opened = await server.open({ folder: folder.path })
  for (const finalized of [0, 1, 2, 3]) {
    node.finalized = finalized
    await opened.follower.catchUp(signal)
  }
  assert.deepEqual(await coveredEpochs(server.context.duties, computedNetwork), [{ from: 1, until: 2 }])
})

test('a preferred node that stands still does not hold the network back', async () => {
  await using node = await openMadeChainNode(chain)
  await using other = await openMadeChainNode(chain)
  other.states.set('genesis', await readFile(chain.stateFile))
  node.head = 10
  other.finalized = 3
  await using folder = await states()
  await using server = await openComputedServer([node.url, other.url])
  await using opened = await server.open({ folder: folder.path })
  await opened.follower.catchUp(signal)
  assert.deepEqual(await coveredEpochs(server.context.duties, computedNetwork), [{ from: 0, until: 2 }])
})

test('the state of a checkpoint is used if no node has one, as a file or from a server', async () => {
  await using node = await openMadeChainNode(chain)
  await using archive = await openMadeChainNode(chain)
  archive.states.set('0', await readFile(chain.stateFile))
  node.finalized = 2
  for (const from of [chain.stateFile, archive.url]) {
    await using folder = await states()
    await using server = await openComputedServer([node.url])
    await using opened = await server.open({ folder: folder.path, checkpoint: { from, blockRoot: undefined } })
    await opened.follower.catchUp(signal)
    assert.deepEqual(await coveredEpochs(server.context.duties, computedNetwork), [{ from: 0, until: 1 }])
  }
})

test('a checkpoint of another block than the root in the settings, or than that of the nodes, is refused', async () => {
  await using node = await openMadeChainNode(chain)
  await using other = await makeChain({ ...{ preset: 'minimal', validators: 64 }, slots: 1, firstKey: 7 })
  node.finalized = 2
  const start = async (checkpoint: { readonly from: string; readonly blockRoot: string | undefined }) => {
    await using folder = await states()
    await using server = await openComputedServer([node.url])
    await using opened = await server.open({ folder: folder.path, checkpoint })
    await opened.follower.catchUp(signal)
  }
  const blockRoot = `0x${'11'.repeat(32)}`
  await assert.rejects(
    start({ from: chain.stateFile, blockRoot }),
    /but that block is 0x1111.* according to checkpointRoot/,
  )
  // The node of this chain has no header of slot 0. The first block does not follow from the state of the other chain.
  await assert.rejects(start({ from: other.stateFile, blockRoot: undefined }), /slot 1/)
  await using folder = await states()
  const damaged = join(folder.path, 'missing')
  await assert.rejects(start({ from: damaged, blockRoot: undefined }), /the checkpoint .* cannot be read: ENOENT/)
  await copyFile(chain.stateFile, damaged)
  await start({ from: damaged, blockRoot: undefined })
})

test('a node with other rules than the library is refused with both versions and the remedy', async () => {
  const spec = { ...chain.spec, BUILDER_WITHDRAWAL_PREFIX: '0x03' }
  const forked = { ...spec, GLOAS_FORK_EPOCH: '1000' }
  const start = async (ofNode: Readonly<Record<string, unknown>>) => {
    await using node = await openMadeChainNode({ ...chain, spec: ofNode })
    node.states.set('genesis', await readFile(chain.stateFile))
    node.finalized = 2
    await using folder = await states()
    await using server = await openComputedServer([node.url])
    await using opened = await server.open({ folder: folder.path })
    await opened.follower.catchUp(signal)
  }
  await assert.rejects(
    start(forked),
    /the node \(made-chain\/1\) follows other rules than Tetrad: BUILDER_WITHDRAWAL_PREFIX is 0x03, but .* @lodestar\/state-transition 1\..*`states: node`/,
  )
  await start(spec)
})

test('an unknown fork stops ingest before it, and the error names it, although a node has later blocks', async () => {
  const fork = 12
  await using node = await openMadeChainNode({ ...chain, spec: { ...chain.spec, HEZE_FORK_EPOCH: String(fork) } })
  node.states.set('genesis', await readFile(chain.stateFile))
  // By other rules, the blocks lead to other states.
  node.alter = (slot, bytes) => (slot < fork * slotsPerEpoch ? bytes : Buffer.from(bytes).fill(1, 148, 180))
  await using folder = await states()
  await using server = await openComputedServer([node.url])
  await using opened = await server.open({ folder: folder.path })
  node.finalized = fork + 4
  for (const attempt of ['first', 'second'])
    await assert.rejects(
      opened.follower.catchUp(signal),
      { name: 'UnknownForkError', message: /does not support the fork heze of epoch 12; update Tetrad$/ },
      attempt,
    )
  const [covered] = await coveredEpochs(server.context.duties, computedNetwork)
  assert(covered && covered.until > 0 && covered.until <= fork - 4, JSON.stringify(covered))
})

test('every step of a first start is logged, and in /readyz', async () => {
  await using node = await openMadeChainNode(chain)
  node.states.set('genesis', await readFile(chain.stateFile))
  node.finalized = 2
  const { promise, resolve } = Promise.withResolvers<void>()
  node.holdStates = promise
  await using plain = await openContext({
    validators: {
      networks: {
        [computedNetwork]: {
          states: 'computed',
          ...computedTime,
          beacon: { urls: [node.url], fromEpoch: 0, everyMs: 100 },
        },
      },
    },
  })
  const settings = await withChainTimes({ ...plain, clock: systemClock })
  const logged: string[] = []
  const log = { ...plain.log, info: (_: object, message: string) => void logged.push(message) } as typeof plain.log
  const context = { ...plain, settings, log, clock: systemClock }
  const stop = new AbortController()
  await using folder = await states()
  const running = startBeacon(context, stop.signal, () => {}, folder.path)
  try {
    const shows = async (expected: RegExp) => expected.test((await beaconFindings(context))[0]?.message ?? '')
    await waitUntil(() => shows(/^(catching up, )?no epoch stored yet; downloading the first state$/))
    assert.equal(logged[0], 'downloading the first state')
    const { streams } = await coverageReport(context as unknown as AppContext)
    assert.equal(streams.find(({ name }) => name === `network ${computedNetwork}`)?.step, 'downloading the first state')
    resolve()
    await waitUntil(() => logged.includes('epochs stored'))
    await waitUntil(async () => !(await shows(/the first state/)))
  } finally {
    resolve()
    stop.abort()
    await running
  }
})
