// A beacon node alters one answer at a random place while epochs become final and are stored. States are computed, so what
// is stored meanwhile must be true. After the node has recovered, everything is stored as without the alteration.
import assert from 'node:assert/strict'
import { mkdtempDisposable, readFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe } from 'node:test'
import { BeaconError } from '#sources/beacon/client.ts'
import { coveredEpochs } from '#validators/duties/coverage.ts'
import { type AlteredRun, testAlteredSeeds } from './altered-seeds.ts'
import { type AlteringProxy, alterBy, openAlteringProxy } from './altering-proxy.ts'
import { computedNetwork, openComputedServer } from './computed-server.ts'
import { makeChain, type OpenedChain } from './made-chain.ts'
import { type MadeChainNode, openMadeChainNode } from './made-chain-node.ts'
import { storedRows } from './stored-duties.ts'

const { signal } = new AbortController()
const slotsPerEpoch = 8
const epochs = 12

describe('one altered answer of a beacon node', () => {
  let chain: OpenedChain
  let node: MadeChainNode
  let proxy: AlteringProxy

  before(async () => {
    chain = await makeChain({ preset: 'minimal', validators: 64, slots: epochs * slotsPerEpoch, empty: [17, 32, 50] })
    node = await openMadeChainNode(chain)
    proxy = await openAlteringProxy(node.url)
    node.states.set('0', await readFile(chain.stateFile))
  })
  after(async () => {
    await proxy[Symbol.asyncDispose]()
    await node[Symbol.asyncDispose]()
    await chain[Symbol.asyncDispose]()
  })

  type Rows = Awaited<ReturnType<typeof storedRows>>
  let truth: Rows | undefined

  /** Returns how often an answer was refused. */
  const ingest: AlteredRun = async (_, alterer) => {
    await using folder = await mkdtempDisposable(join(tmpdir(), 'tetrad-states-'))
    await using server = await openComputedServer([proxy.url])
    await using opened = await server.open({ folder: folder.path })
    const rows = () => storedRows(opened.context, computedNetwork, 'hours')
    let refusals = 0
    proxy.alter(alterBy(alterer))
    for (const finalized of [2, 4, 6]) {
      node.finalized = finalized
      node.head = (finalized + 3) * slotsPerEpoch
      await opened.follower.catchUp(signal).catch((error: unknown) => {
        assert.ok(error instanceof BeaconError, String((error as Error).stack))
        refusals += 1
      })
      await assertTrue(await rows(), (await coveredEpochs(opened.context.duties, computedNetwork)).at(-1)?.until ?? 0)
    }
    alterer.stop()
    node.finalized = epochs - 3
    node.head = epochs * slotsPerEpoch
    await opened.follower.catchUp(signal)
    while (await opened.follower.fillGaps(signal));
    truth ??= await rows()
    assert.deepEqual(await rows(), truth, 'after recovery')
    return refusals > 0
  }

  /** Hours that are complete have their last figures. The first run has no alteration. */
  const assertTrue = async (rows: Rows, until: number): Promise<void> => {
    const complete = (all: Rows) => all.filter(({ hour }) => (hour + 1) * 2 <= until)
    if (truth) assert.deepEqual(complete(rows), complete(truth))
  }

  testAlteredSeeds('nothing wrong is stored, and what is stored ends with the truth', () => ingest, {
    ...{ count: 500, perRun: 4, worlds: 1 },
    isBelieved: () => false,
  })
})
