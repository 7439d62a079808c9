// The past of a network whose states are computed: added validators and gaps, from older snapshots, while the head continues.
// The node has blocks, but no state except the first one.
import assert from 'node:assert/strict'
import { cp, mkdtempDisposable, readdir, readFile, rename } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { computedNetwork, computedTime, openComputedServer } from '#test/computed-server.ts'
import { makeChain, type OpenedChain } from '#test/made-chain.ts'
import { type MadeChainNode, openMadeChainNode } from '#test/made-chain-node.ts'
import { storedRows } from '#test/stored-duties.ts'
import { readStateFile } from '../chain/state-files.ts'
import { coveredEpochs } from '../duties/coverage.ts'
import { keptEpochs } from '../duties/watch-ranges.ts'

const { signal } = new AbortController()
const slotsPerEpoch = 8
const epochs = 80
/** Some of them are the first slot of an epoch. */
const empty = [16, 40, 41, 42, 200]

let chain: OpenedChain

/** Of a server that has followed the chain from its first state. */
let expected: Awaited<ReturnType<typeof storedRows>>
/** The states that it has saved, by epoch. */
const savedStates = new Map<number, Uint8Array>()

before(async () => {
  chain = await makeChain({ ...{ preset: 'minimal', validators: 64 }, slots: epochs * slotsPerEpoch, empty })
  await using node = await openNode()
  await using folder = await mkdtempDisposable(join(tmpdir(), 'tetrad-states-'))
  await using server = await openComputedServer([node.url])
  await using opened = await server.open({ folder: folder.path })
  setFinal(node, epochs - 3)
  await opened.follower.catchUp(signal)
  expected = await storedRows(opened.context, computedNetwork, 'hours')
  for (const name of await readdir(folder.path))
    savedStates.set(Number(name.split('-')[0]), await readStateFile(join(folder.path, name)))
})
after(() => chain[Symbol.asyncDispose]())

/** A node that has the first state, and calls everything final that the computed states call final. */
async function openNode(): Promise<MadeChainNode> {
  const node = await openMadeChainNode(chain)
  node.states.set('0', await readFile(chain.stateFile))
  return node
}

function setFinal(node: MadeChainNode, epoch: number): void {
  node.finalized = epoch
  node.head = Math.min((epoch + 3) * slotsPerEpoch, epochs * slotsPerEpoch)
}

const stateRequests = (node: MadeChainNode) =>
  node.requests.filter((request) => request.includes('/debug/beacon/states/'))

test('a validator that is added to the watch list has its seven days without an archive node', async () => {
  const pastDays = 7
  const { epochsPerDay } = computedTime
  await using node = await openNode()
  await using folder = await mkdtempDisposable(join(tmpdir(), 'tetrad-states-'))
  await using server = await openComputedServer([node.url])
  {
    await using opened = await server.open({ folder: folder.path, watch: ['2'], pastDays })
    setFinal(node, 65)
    await opened.follower.catchUp(signal)
  }
  node.states.clear()
  node.requests.length = 0
  {
    await using opened = await server.open({ folder: folder.path, watch: ['2', '9'], pastDays })
    setFinal(node, 67)
    await opened.follower.catchUp(signal)
    const starts: number[] = []
    for (;;) {
      const step = await opened.follower.fillPast(signal)
      if (step.is === 'computing') continue
      if (step.is !== 'read') break
      starts.push(step.epochs.from)
      // The head continues in between, from its own state.
      setFinal(node, Math.min(67 + starts.length, epochs - 3))
      await opened.follower.catchUp(signal)
    }
    // Day 8 has begun.
    assert.deepEqual(
      starts,
      Array.from({ length: 28 }, (_, at) => epochsPerDay + 2 * at),
      'oldest first',
    )
    const covered = await coveredEpochs(server.context.duties, computedNetwork)
    assert.deepEqual(await keptEpochs(server.context.duties, computedNetwork, covered, [9]), [
      { from: epochsPerDay, until: epochs - 4 },
    ])
    assert.deepEqual(stateRequests(node), [])
    const rows = (await storedRows(opened.context, computedNetwork, 'hours')).filter(({ validator }) => validator === 9)
    const last = rows.at(-1)?.hour ?? 0
    assert(rows.length > 28)
    assert.deepEqual(
      rows,
      expected.filter(({ validator, hour }) => validator === 9 && hour >= 4 && hour <= last),
    )
  }
})

test('epochs without an older state are left out until there is one, and watchPastDays 0 reads nothing', async () => {
  await using node = await openNode()
  await using folder = await mkdtempDisposable(join(tmpdir(), 'tetrad-states-'))
  await using lost = await mkdtempDisposable(join(tmpdir(), 'tetrad-states-'))
  await using server = await openComputedServer([node.url])
  {
    await using opened = await server.open({ folder: folder.path, watch: ['2'] })
    setFinal(node, 41)
    await opened.follower.catchUp(signal)
  }
  node.states.clear()
  const epochOf = (name: string) => Number(name.split('-')[0])
  const older = (await readdir(folder.path)).sort((a, b) => epochOf(a) - epochOf(b)).slice(0, -2)
  for (const name of older) await rename(join(folder.path, name), join(lost.path, name))
  const watch = ['2', '9']
  {
    await using opened = await server.open({ folder: folder.path, watch })
    setFinal(node, 43)
    await opened.follower.catchUp(signal)
    const starts: number[] = []
    for (;;) {
      const step = await opened.follower.fillPast(signal)
      if (step.is === 'computing') continue
      if (step.is !== 'read') {
        assert.deepEqual(step, { is: 'unreadable', epochs: { from: 24, until: starts[0] } })
        break
      }
      starts.push(step.epochs.from)
    }
    assert(starts.length > 0, 'reading an epoch needs the state of the one before')
  }
  {
    await using opened = await server.open({ folder: folder.path, watch, pastDays: 0 })
    assert.deepEqual(await opened.follower.fillPast(signal), { is: 'complete' })
  }
  for (const name of older) await rename(join(lost.path, name), join(folder.path, name))
  await using opened = await server.open({ folder: folder.path, watch })
  while ((await opened.follower.fillPast(signal)).is !== 'complete');
  const rows = (await storedRows(opened.context, computedNetwork, 'hours')).filter(({ validator }) => validator === 9)
  const last = rows.at(-1)?.hour ?? 0
  assert(last >= 20)
  assert.deepEqual(
    rows,
    expected.filter(({ validator, hour }) => validator === 9 && hour >= 12 && hour <= last),
  )
})

test('a gap of more than 48 epochs is filled from an older snapshot', async () => {
  await using node = await openNode()
  await using older = await mkdtempDisposable(join(tmpdir(), 'tetrad-states-'))
  await using lost = await mkdtempDisposable(join(tmpdir(), 'tetrad-states-'))
  await using server = await openComputedServer([node.url])
  {
    await using opened = await server.open({ folder: older.path })
    setFinal(node, 5)
    await opened.follower.catchUp(signal)
  }
  // The snapshots are not there, and the node has only the state of the finalized epoch.
  node.states.clear()
  await using opened = await server.open({ folder: lost.path })
  const [anchor] = [...savedStates.keys()].sort((a, b) => a - b).slice(-2)
  assert(anchor !== undefined)
  setFinal(node, anchor)
  node.states.set(String(anchor * slotsPerEpoch), savedStates.get(anchor) as Uint8Array)
  await opened.follower.catchUp(signal)
  node.states.clear()
  for (let epoch = anchor + 1; epoch <= epochs - 3; epoch++) {
    setFinal(node, epoch)
    await opened.follower.catchUp(signal)
  }
  const [first, second] = await coveredEpochs(server.context.duties, computedNetwork)
  assert(first?.until === 4 && second && second.from - first.until > 48, `${JSON.stringify([first, second])}`)
  assert.equal(await opened.follower.fillGaps(signal), false, 'no snapshot is older than the gap')
  for (const name of await readdir(older.path)) await cp(join(older.path, name), join(lost.path, name))
  for (let steps = 0; (await opened.follower.countMissing()) > 0; steps++) {
    assert(steps < 100)
    await opened.follower.fillGaps(signal)
  }
  assert.deepEqual(await coveredEpochs(server.context.duties, computedNetwork), [{ from: 0, until: second.until }])
  assert.deepEqual(await storedRows(opened.context, computedNetwork, 'hours'), expected)
})
