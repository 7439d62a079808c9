// What happens if the chain process of a network ends, its disk is full, or its nodes disagree: no figure is wrong, what is
// stored stays, and ingestion continues by itself.
import assert from 'node:assert/strict'
import { mkdtempDisposable, readdir, readFile, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { computedNetwork, openComputedServer } from '#test/computed-server.ts'
import { makeChain, type OpenedChain } from '#test/made-chain.ts'
import { type MadeChainNode, openMadeChainNode } from '#test/made-chain-node.ts'
import { storedRows } from '#test/stored-duties.ts'
import { type ChainProcess, type ChainProcessOptions, openChainProcess } from '../chain/chain-process.ts'
import type { InputOf, OperationName } from '../chain/messages.ts'
import { coveredEpochs } from '../duties/coverage.ts'

const { signal } = new AbortController()
const slotsPerEpoch = 8
const epochs = 14

let chain: OpenedChain
let expected: Awaited<ReturnType<typeof storedRows>>

before(async () => {
  chain = await makeChain({ ...{ preset: 'minimal', validators: 64 }, slots: epochs * slotsPerEpoch, empty: [33, 48] })
  await using node = await openNode()
  await using folder = await states()
  await using server = await openComputedServer([node.url])
  await using opened = await server.open({ folder: folder.path })
  await opened.follower.catchUp(signal)
  expected = await storedRows(opened.context, computedNetwork, 'hours')
  assert(expected.length > 64)
})
after(() => chain[Symbol.asyncDispose]())

const states = () => mkdtempDisposable(join(tmpdir(), 'tetrad-states-'))

async function openNode(): Promise<MadeChainNode> {
  const node = await openMadeChainNode(chain)
  node.states.set('0', await readFile(chain.stateFile))
  node.finalized = epochs - 3
  return node
}

/** Is called with each call before it is made. Returns an error: the call fails with it instead. */
type OnCall = (name: OperationName, input: unknown, pid: number | undefined) => Error | undefined

const observed =
  (onCall: OnCall) =>
  (options: ChainProcessOptions): ChainProcess => {
    const process = openChainProcess(options)
    return {
      get pid() {
        return process.pid
      },
      call: async (name, input, callOptions) => {
        const error = onCall(name, input, process.pid)
        if (error) throw error
        return process.call(name, input, callOptions)
      },
      [Symbol.asyncDispose]: () => process[Symbol.asyncDispose](),
    }
  }

const kill = (pid: number | undefined): void => void (pid !== undefined && process.kill(pid, 'SIGKILL'))

describe('a chain process that is killed before', () => {
  const steps = ['loadState', 'processBlock', 'epochStart', 'saveState', 'dropBefore'] as const
  for (const step of steps)
    test(`${step} starts again, and every figure is right`, async () => {
      await using node = await openNode()
      await using folder = await states()
      await using server = await openComputedServer([node.url])
      const kills: string[] = []
      let calls = 0
      const openProcess = observed((name, _, pid) => {
        if (name !== step || kills.length > 0) return undefined
        calls += 1
        // The first state is loaded once. Later steps are killed when epochs are stored.
        if (calls < (step === 'loadState' ? 1 : 2)) return undefined
        // The first call of a process starts it.
        if (pid === undefined) return undefined
        kills.push(name)
        kill(pid)
        return undefined
      })
      await using opened = await server.open({ folder: folder.path, openProcess })
      await opened.follower.catchUp(signal)
      if (step !== 'loadState') assert.deepEqual(kills, [step])
      assert.deepEqual(await storedRows(opened.context, computedNetwork, 'hours'), expected)
    })
})

test('a full disk at a snapshot stops nothing, and the next start uses an older one', async () => {
  await using node = await openNode()
  await using folder = await states()
  await using server = await openComputedServer([node.url])
  let saves = 0
  {
    const openProcess = observed((name) => {
      if (name !== 'saveState') return undefined
      saves += 1
      return saves === 1 ? undefined : new Error('ENOSPC: no space left on device, write')
    })
    node.finalized = 8
    await using opened = await server.open({ folder: folder.path, openProcess })
    await opened.follower.catchUp(signal)
    assert(saves > 2, 'it is tried again')
    const step = await opened.processor.step()
    assert.deepEqual(step, {
      name: 'the last snapshot was not saved',
      reason: 'ENOSPC: no space left on device, write',
    })
  }
  assert.equal((await readdir(folder.path)).filter((name) => name.endsWith('.zst')).length, 1)
  node.states.clear()
  node.finalized = epochs - 3
  await using opened = await server.open({ folder: folder.path })
  await opened.follower.catchUp(signal)
  assert.deepEqual(await storedRows(opened.context, computedNetwork, 'hours'), expected)
})

test('a snapshot is saved at a normal stop, and a damaged one is replaced by an older one', async () => {
  await using node = await openNode()
  await using folder = await states()
  await using server = await openComputedServer([node.url])
  node.finalized = 8
  {
    await using opened = await server.open({ folder: folder.path })
    await opened.follower.catchUp(signal)
  }
  const saved = (await readdir(folder.path))
    .filter((name) => name.endsWith('.zst'))
    .sort((a, b) => epochOf(a) - epochOf(b))
  assert.equal(epochOf(saved.at(-1) ?? ''), 5, 'the epoch before the last segment that was stored')
  assert(saved.length > 1)
  const file = join(folder.path, saved.at(-1) ?? '')
  const content = await readFile(file)
  await writeFile(file, content.subarray(0, content.length / 2))
  node.states.clear()
  node.finalized = epochs - 3
  await using opened = await server.open({ folder: folder.path })
  await opened.follower.catchUp(signal)
  assert.deepEqual(await storedRows(opened.context, computedNetwork, 'hours'), expected)
})

const epochOf = (name: string): number => Number(name.split('-')[0])

test('if two nodes have different blocks for a final epoch, nothing of it is stored', async () => {
  await using node = await openNode()
  await using other = await openNode()
  other.alter = (slot, bytes) => {
    const altered = Buffer.from(bytes)
    // The state root that the block states.
    if (slot >= 8 * slotsPerEpoch) altered.fill(1, 148, 180)
    return altered
  }
  await using folder = await states()
  await using server = await openComputedServer([node.url, other.url])
  await using opened = await server.open({ folder: folder.path })
  await assert.rejects(
    opened.follower.catchUp(signal),
    /but 0x[0-9a-f]{64} according to .*nothing is stored until the nodes agree/,
  )
  const [covered] = await coveredEpochs(server.context.duties, computedNetwork)
  assert(covered && covered.until <= 6, JSON.stringify(covered))
  const asked = other.requests.filter((request) => request.includes('/headers/'))
  assert(asked.length <= 2 * epochs, `${asked.length} requests`)
  other.alter = (_, bytes) => bytes
  await opened.follower.catchUp(signal)
  assert.deepEqual(await storedRows(opened.context, computedNetwork, 'hours'), expected)
})

const slotOf = (input: unknown): number => {
  const { bytes } = input as InputOf<'processBlock'>
  return Number(Buffer.from(bytes).readBigUInt64LE(100))
}

test('a block with which the process has ended is asked of another node', async () => {
  await using node = await openNode()
  await using other = await openNode()
  let kills = 0
  await using folder = await states()
  await using server = await openComputedServer([node.url, other.url])
  const openProcess = observed((name, input, pid) => {
    const isFatal =
      name === 'processBlock' && slotOf(input) === 60 && other.requests.every((path) => !path.endsWith('/blocks/60'))
    if (!isFatal) return undefined
    kills += 1
    kill(pid)
    return undefined
  })
  await using opened = await server.open({ folder: folder.path, openProcess })
  await opened.follower.catchUp(signal)
  assert.equal(kills, 1)
  assert(opened.beacon.each()[0]?.isDistrusted())
  assert.deepEqual(await storedRows(opened.context, computedNetwork, 'hours'), expected)
})

test('a block that always ends the process stops the network, with block, state root and node', async () => {
  await using node = await openNode()
  let kills = 0
  await using folder = await states()
  await using server = await openComputedServer([node.url])
  const openProcess = observed((name, input, pid) => {
    if (name !== 'processBlock' || slotOf(input) !== 60) return undefined
    kills += 1
    kill(pid)
    return undefined
  })
  await using opened = await server.open({ folder: folder.path, openProcess })
  const stopped =
    /has ended 3 times in ten minutes.* during processBlock of slot 60, block 0x[0-9a-f]{64} with the state root 0x[0-9a-f]{64}, from http/
  await assert.rejects(opened.follower.catchUp(signal), stopped)
  const covered = await coveredEpochs(server.context.duties, computedNetwork)
  assert(covered[0] && covered[0].until >= 2)
  await assert.rejects(opened.follower.catchUp(signal), stopped)
  assert.equal(kills, 3, 'it is not started again')
  assert.deepEqual(await coveredEpochs(server.context.duties, computedNetwork), covered)
})
