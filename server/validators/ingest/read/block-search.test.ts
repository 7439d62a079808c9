// The search for the blocks around empty slots: few requests if they are near, and a limit if they are far.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { BeaconError } from '#sources/beacon/client.ts'
import { readRules } from '#sources/beacon/consensus.ts'
import type { BeaconQueries, BlockHeader } from './beacon-queries.ts'
import { BlockSearch } from './block-search.ts'

const slotsPerEpoch = 4
const rules = readRules({ SLOTS_PER_EPOCH: String(slotsPerEpoch) })

/** A node with headers in these slots. `headSlot`: of the newest block, which it need not have. */
function openChain(slots: readonly number[], headSlot = slots.at(-1) ?? 0) {
  const chain = { slots, headSlot, fork: 'a' }
  let requests = 0
  const headerIn = (slot: number): BlockHeader => {
    const before = chain.slots.findLast((other) => other < slot)
    return { slot, proposer: 0, root: `${chain.fork} ${slot}`, parentRoot: `${chain.fork} ${before}` }
  }
  const answer = async (slot: number | undefined) => {
    requests += 1
    return slot === undefined ? undefined : headerIn(slot)
  }
  const queries: Partial<BeaconQueries> = {
    header: (slot) => answer(chain.slots.find((other) => other === slot)),
    headerOf: (root) => answer(chain.slots.find((slot) => headerIn(slot).root === root)),
    head: () => answer(chain.headSlot),
  }
  const search = new BlockSearch({ rules, queries: queries as BeaconQueries })
  const countRequests = async (work: () => Promise<unknown>) => {
    requests = 0
    await work()
    return requests
  }
  return { chain, search, countRequests }
}

const slotOf = async (header: Promise<BlockHeader | undefined>) => (await header)?.slot

test('the blocks around empty slots are found, near and far', async () => {
  for (const [before, after] of [
    [20, 22],
    [20, 30],
    [20, 3000],
  ] as const) {
    const { search } = openChain([1, before, after])
    assert.equal(await slotOf(search.findFrom(before)), before)
    assert.equal(await slotOf(search.findFrom(before + 1)), after)
    assert.equal(await slotOf(search.findBefore(after - 1)), before)
    assert.equal(await slotOf(search.findParent({ slot: after, parentRoot: `a ${before}` })), before)
    assert.equal(await search.findFrom(after + 1), undefined)
  }
})

test('epochs in the same empty slots share one search, until the chain changes', async () => {
  const { chain, search, countRequests } = openChain([1, 3000])
  const first = await countRequests(() => search.findFrom(16))
  assert(first > 2900, `${first} requests`)
  assert.equal(await countRequests(() => search.findFrom(1600)), 1)
  chain.fork = 'b'
  chain.slots = [1, 2000, 3000]
  assert.equal(await slotOf(search.findFrom(1600)), 2000)
})

test('a node that lacks the block before empty slots has none', async () => {
  const { search } = openChain([3000])
  assert.equal(await search.findBefore(1600), undefined)
})

test('the next block is searched in 65536 slots, whatever the node calls its newest block', async () => {
  for (const [slots, headSlot] of [
    [[1, 70_000], undefined],
    [[1], 10 ** 12],
  ] as const) {
    const { search, countRequests } = openChain(slots, headSlot)
    const requests = await countRequests(() =>
      assert.rejects(
        search.findFrom(16),
        (error) => error instanceof BeaconError && /no block in the 65536 slots from 16 on/.test(error.message),
      ),
    )
    assert(requests < 65_536 + 4 * slotsPerEpoch, `${requests} requests`)
    assert.equal(await search.findBefore(16), undefined)
  }
})
