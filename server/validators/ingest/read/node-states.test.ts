// With states of a node: if a response is wrong or missing, the epoch is not stored and the error says why. Once the node
// has recovered, the correct figures are stored.
import assert from 'node:assert/strict'
import { after, afterEach, test } from 'node:test'
import { systemClock } from '#runtime/clock.ts'
import { presentForks } from '#simulator/beacon/plan.ts'
import { openBeacon } from '#sources/beacon/client.ts'
import { type Alteration, bytesAt, openAlteringProxy, type ResponseAlteration } from '#test/altering-proxy.ts'
import { openNodeOfRun } from '#test/client-of-run.ts'
import { openContext, settingsWith } from '#test/context.ts'
import { simulateNetwork } from '#test/simulator/simulate-network.ts'
import { emptyDuties, storedRows } from '#test/stored-duties.ts'
import { coveredEpochs } from '../../duties/coverage.ts'
import { Follower } from '../follow.ts'
import { withChainTimes } from './chain-identity.ts'

const network = 'hoodi'
const slotsPerEpoch = 4
const world = simulateNetwork('contradiction', {
  ...{ epochs: 10, outage: { from: 0, until: 0 }, slashing: 0, missed: 0.05, orphaned: 0, balanceChanges: 0.4 },
  ...{ slotsPerEpoch, validators: 24, committeesPerSlot: 2, forkEpochs: presentForks, hasExecution: false },
})
/** The altered responses are about this epoch. */
const epoch = 4
const firstSlot = epoch * slotsPerEpoch
const slot =
  [...world.blocks.values()].find((block) => block.slot > firstSlot + 1 && block.attestations.length > 0)?.slot ?? 0

const node = await openNodeOfRun(world)
after(() => node[Symbol.asyncDispose]())
const context = await openContext()
after(() => context[Symbol.asyncDispose]())
const { signal } = new AbortController()

async function followerOf(...urls: readonly string[]) {
  const hoodi = { epochsPerHour: 3, epochsPerDay: 6, beacon: { urls, fromEpoch: 0 } }
  const configured = settingsWith({ validators: { networks: { [network]: hoodi } } })
  const settings = await withChainTimes({ ...context, settings: configured, clock: systemClock })
  const beacon = openBeacon({ network, urls, timeoutMs: 5000, clock: systemClock, backoffMs: 1 })
  const follower = new Follower({ ...context, settings }, network, beacon)
  const rows = async () => JSON.stringify(await storedRows({ ...context, settings }, network, 'hours'))
  return { catchUp: () => follower.catchUp(signal), rows }
}

async function empty(): Promise<void> {
  await emptyDuties(context)
  await context.ingest.write((tx) => tx.run('delete from validators'))
}

afterEach(empty)

async function readTruth(): Promise<string> {
  const { catchUp, rows } = await followerOf(node.url)
  await catchUp()
  const figures = await rows()
  await empty()
  return figures
}
const truth = await readTruth()

const missing =
  (path: RegExp): ResponseAlteration =>
  ({ path: requested, status, type, body }) =>
    path.test(requested)
      ? { status: 404, type, body: Buffer.from('{"code":404,"message":"not found"}') }
      : { status, type, body }

const flipped = bytesAt(new RegExp(`/blocks/${slot}$`), (bytes) => {
  // A byte of the first field of the body, the randao reveal.
  const at = 100 + 84 + 7
  bytes[at] = (bytes[at] as number) ^ 1
})

const cases: readonly (readonly [name: string, change: Alteration | ResponseAlteration, message: RegExp])[] = [
  ['an altered block', flipped, /the parent root of the block is 0x\w+, but the root of the block of slot \d+ is/],
  ['a missing block', missing(new RegExp(`/blocks/${slot}$`)), /the node lacks blocks between them/],
  [
    'a missing state',
    missing(new RegExp(`/states/${firstSlot}$`)),
    /no node has the state of slot 16\. With states: node,/,
  ],
  ['missing committees', missing(/\/committees\?epoch=4$/), /did not return the committees and proposers of epoch 4/],
]

for (const [name, change, message] of cases)
  test(`${name}: the epoch is not stored until the node has recovered`, async () => {
    await using proxy = await openAlteringProxy(node.url)
    proxy.alter(change)
    const { catchUp, rows } = await followerOf(proxy.url)
    await assert.rejects(catchUp(), message)
    const covered = (await coveredEpochs(context.duties, network)).at(-1)?.until ?? 0
    assert(covered < world.finalized - 1, `epochs up to ${covered} are stored`)
    proxy.alter()
    await catchUp()
    assert.equal(await rows(), truth)
  })

test('what one node lacks is requested from another one', async () => {
  await using proxy = await openAlteringProxy(node.url)
  proxy.alter(missing(/\/debug\/beacon\/states\//))
  const { catchUp, rows } = await followerOf(proxy.url, node.url)
  await catchUp()
  assert.equal(await rows(), truth)
})

test('each block and state is requested once', async () => {
  const requested: string[] = []
  await using proxy = await openAlteringProxy(node.url, ({ path }) => {
    if (/\/(blocks|states)\/\d+$/.test(path)) requested.push(path)
    return undefined
  })
  await (await followerOf(proxy.url)).catchUp()
  assert.equal(requested.length, new Set(requested).size)
})
