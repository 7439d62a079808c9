// A network with a moving head: finality follows, branches are consistent chains, and events report what changes.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { systemClock } from '#runtime/clock.ts'
import { openNode } from '#simulator/beacon/node.ts'
import { gloasFrom } from '#simulator/beacon/plan.ts'
import { genesisRoot } from '#simulator/beacon/records.ts'
import { type BeaconEvent, type EventTopic, listenToEvents } from '#sources/beacon/events.ts'
import { waitUntil } from '#test/wait-until.ts'
import type { ChainEvent, KnownTopics } from './chain-events.ts'
import { MovingHead } from './moving-head.ts'
import { type CompletedNetwork, simulateNetwork } from './simulate-network.ts'

const calm = { missed: 0, orphaned: 0, slashing: 0, balanceChanges: 0, outage: { from: 0, until: 0 } }
/** Every slot has a block, and every epoch is finalized. */
const simulateCalm = (seed: string): CompletedNetwork =>
  simulateNetwork(seed, { ...calm, slotsPerEpoch: 4, epochs: 9, calmEpochs: 9 })

/** The roots of the canonical chain from genesis to the head; fails if a block does not link to its parent. */
function linkedRoots(network: MovingHead): string[] {
  const roots = [genesisRoot]
  for (let slot = 1; slot <= network.headSlot; slot++) {
    const block = network.epoch(Math.floor(slot / network.plan.slotsPerEpoch))?.blocks.get(slot)
    if (!block) continue
    assert.equal(block.parentRoot, roots.at(-1), `slot ${slot}`)
    roots.push(block.root)
  }
  return roots
}

const eventsOf = (network: MovingHead): ChainEvent[] => {
  const events: ChainEvent[] = []
  network.subscribe((event) => events.push(event))
  return events
}

test('the finalized epoch is at least two epochs before the head, and reaches that', () => {
  const network = new MovingHead(simulateCalm('moving/finality'))
  const events = eventsOf(network)
  const finalized = new Map<number, number>()
  for (let slot = 1; slot < 36; slot++) {
    network.advance()
    for (const event of events.splice(0)) {
      if (event.topic === 'finalized_checkpoint') finalized.set(Math.floor(slot / 4), event.epoch)
    }
  }
  for (const [epoch, at] of finalized) assert(at <= epoch - 2, `epoch ${epoch}: ${at}`)
  assert.equal(finalized.get(8), 6)
})

test('an epoch after the next one is unknown, and so are blocks after the head', async () => {
  const chain = simulateCalm('moving/future')
  const network = new MovingHead(chain, { headSlot: 10 })
  await using node = await openNode(network)
  const status = async (path: string) => (await fetch(`${node.url}/eth/${path}`)).status
  assert.equal(await status('v1/validator/duties/proposer/3'), 200)
  assert.equal(await status('v1/validator/duties/proposer/4'), 404)
  assert.equal(await status('v2/beacon/blocks/10'), 200)
  assert.equal(await status('v2/beacon/blocks/11'), 404)
  assert.equal(await status(`v2/beacon/blocks/${chain.blocks.get(11)?.root}`), 404)
  network.advance()
  assert.equal(await status('v2/beacon/blocks/11'), 200)
  assert.equal(await status(`v2/beacon/blocks/${chain.blocks.get(11)?.root}`), 200)
})

for (const [name, branch, depth] of [
  ['one block', { from: 10, until: 11 }, 1],
  ['three blocks', { from: 13, until: 16 }, 3],
  ['three blocks across an epoch boundary', { from: 14, until: 17 }, 3],
  ['a block at the start of an epoch', { from: 16, until: 17 }, 1],
] as const) {
  test(`a reorganization of ${name}: both chains are linked, and the node returns to the canonical one`, () => {
    const chain = simulateCalm(`moving/${name}`)
    const network = new MovingHead(chain, { headSlot: branch.from - 1, branches: [branch] })
    const events = eventsOf(network)
    network.advance(depth)
    const orphaned = linkedRoots(network).slice(-depth)
    for (const root of orphaned) assert(![...chain.blocks.values()].some((block) => block.root === root))
    const epoch = Math.floor((branch.until - 1) / 4)
    const [branched, canonical] = [network.epoch(epoch), chain.epochs[epoch]]
    assert.deepEqual(branched?.committees, canonical?.committees)
    assert.deepEqual(branched?.proposers, canonical?.proposers)
    assert(!events.some(({ topic }) => topic === 'chain_reorg'))

    events.length = 0
    network.advance()
    assert.deepEqual(linkedRoots(network).slice(1), [...chain.blocks.values()].slice(0, branch.until).map(rootOf))
    assert.deepEqual(network.epoch(epoch), canonical)
    const [reorg, head] = events
    assert(reorg?.topic === 'chain_reorg' && head?.topic === 'head')
    assert.deepEqual([reorg.depth, reorg.oldHead.root], [depth, orphaned.at(-1)])
    assert.equal(reorg.newHead.root, head.block.root)
    for (const root of orphaned) assert.equal(network.blockByRoot(root)?.root, root)
  })
}

const rootOf = ({ root }: { readonly root: string }): string => root

test('a branch without a block at the boundary has the state of the epoch transition', () => {
  const chain = simulateCalm('moving/empty')
  const network = new MovingHead(chain, { headSlot: 15, branches: [{ from: 16, until: 18, empty: [16] }] })
  network.advance(2)
  const record = network.epoch(4)
  assert.equal(record?.blocks.has(16), false)
  assert.equal(record?.blocks.get(17)?.parentRoot, chain.blocks.get(15)?.root)
  assert.equal(record?.states[0]?.validators[0]?.current, 0)
})

test('a late block: its slot is empty at first, without a reorganization', async () => {
  const chain = simulateCalm('moving/late')
  const network = new MovingHead(chain, { headSlot: 15, branches: [{ from: 16, until: 17, empty: [16] }] })
  const events = eventsOf(network)
  await using node = await openNode(network)
  const status = async () => (await fetch(`${node.url}/eth/v2/beacon/blocks/16`)).status
  network.advance()
  assert.equal(await status(), 404)
  assert.deepEqual(events, [])
  const before = network.epoch(4)?.states[0]
  network.advance()
  assert.equal(await status(), 200)
  assert(!events.some(({ topic }) => topic === 'chain_reorg'))
  assert.notDeepEqual(network.epoch(4)?.states[0], before, 'the block changes the state of its slot')
})

test('the event stream of a node has the requested topics', async () => {
  const chain = simulateCalm('moving/events')
  const network = new MovingHead(chain, { headSlot: 14, branches: [{ from: 15, until: 17 }] })
  await using node = await openNode(network)
  const stream = await fetch(`${node.url}/eth/v1/events?topics=head,chain_reorg,finalized_checkpoint`)
  assert.equal(stream.headers.get('content-type'), 'text/event-stream')
  network.advance(3)
  let text = ''
  for await (const chunk of stream.body ?? []) {
    text += Buffer.from(chunk).toString()
    if (text.includes(chain.blocks.get(17)?.root as string) && text.endsWith('\n\n')) break
  }
  const events = text
    .trim()
    .split('\n\n')
    .map((event) => event.split('\n')[0])
  const expected = ['head', 'head', 'finalized_checkpoint', 'chain_reorg', 'head']
  assert.deepEqual(
    events,
    expected.map((topic) => `event: ${topic}`),
  )
  const reorg = JSON.parse(/event: chain_reorg\ndata: (.*)/.exec(text)?.[1] ?? '{}')
  assert.equal(reorg.depth, '2')
  assert.equal(reorg.new_head_block, chain.blocks.get(17)?.root)
})

/** Of the last epochs, which have no mistakes. */
const simulateGloas = (seed: string): CompletedNetwork =>
  simulateNetwork(seed, { ...calm, slotsPerEpoch: 4, epochs: 12, calmEpochs: 12, forkEpochs: gloasFrom(2) })

test('since Gloas, a head is reported again when its payload arrives, and a late payload in the next slot', () => {
  const chain = simulateGloas('moving/payloads')
  const network = new MovingHead(chain)
  const events = eventsOf(network)
  const seen = new Map<string, number>()
  for (let slot = 1; slot <= chain.headSlot; slot++) {
    events.splice(0)
    network.advance()
    const delivery = chain.blocks.get(slot)?.gloas?.delivery ?? 'in block'
    const wasLate = chain.blocks.get(slot - 1)?.gloas?.delivery === 'late'
    const topics = events.flatMap((event) => {
      if (event.topic === 'head_v2') return [`${event.topic} ${event.payload}`]
      return event.topic === 'execution_payload' ? [`${event.topic} ${slot - event.block.slot}`] : []
    })
    const expected = {
      'in block': ['head_v2 full'],
      full: ['head_v2 empty', 'execution_payload 0', 'head_v2 full'],
      late: ['head_v2 empty'],
      withheld: ['head_v2 empty'],
    }[delivery]
    assert.deepEqual(topics, [...(wasLate ? ['execution_payload 1'] : []), ...expected], `slot ${slot}`)
    seen.set(delivery, (seen.get(delivery) ?? 0) + 1)
  }
  assert.equal(seen.size, 4)
})

test('a branch can take back the payload of a block that both chains have', async () => {
  const chain = simulateGloas('moving/flip')
  const parent = [...chain.blocks.values()].find(
    ({ slot, gloas }) => slot > 20 && gloas?.delivery === 'full' && chain.blocks.has(slot + 1),
  )
  const late = [...chain.blocks.values()].find(({ slot, gloas }) => slot > 28 && gloas?.delivery === 'late')
  assert(parent && late)
  for (const { slot, gloas, root } of [parent, late]) {
    const from = slot + 1
    const hasParentPayload = gloas?.delivery !== 'full'
    const network = new MovingHead(chain, { headSlot: slot, branches: [{ from, until: from + 1, hasParentPayload }] })
    const childAt = () => network.epoch(Math.floor(from / 4))?.blocks.get(from)
    network.advance()
    assert.equal(childAt()?.parentRoot, root)
    assert.equal(childAt()?.gloas?.isParentFull, hasParentPayload)
    linkedRoots(network)
    network.advance()
    assert.equal(childAt()?.gloas?.isParentFull, !hasParentPayload)
    linkedRoots(network)
  }
})

test('a node refuses the event topics that its version does not know', async () => {
  const chain = simulateGloas('moving/topics')
  const statuses = async (known: KnownTopics) => {
    await using node = await openNode(new MovingHead(chain, { topics: known }))
    const status = async (topics: string) => {
      const aborter = new AbortController()
      const response = await fetch(`${node.url}/eth/v1/events?topics=${topics}`, { signal: aborter.signal })
      aborter.abort()
      return response.status
    }
    return [await status('head,head_v2'), await status('head,chain_reorg'), await status('head_v2,chain_reorg')]
  }
  assert.deepEqual(await statuses('now'), [200, 200, 200])
  assert.deepEqual(await statuses('before Gloas'), [400, 200, 400])
  assert.deepEqual(await statuses('without head'), [400, 400, 200])
})

/** Those that the server asks for first. */
const newBlockTopics = { now: 'head', 'before Gloas': 'head', 'without head': 'head_v2' } as const

for (const [known, newBlock] of Object.entries(newBlockTopics) as [KnownTopics, EventTopic][]) {
  test(`new blocks are noticed at a node that knows the topics: ${known}`, async () => {
    const chain = simulateGloas('moving/listen')
    const network = new MovingHead(chain, { headSlot: 20, topics: known })
    await using node = await openNode(network)
    const stop = new AbortController()
    const seen: EventTopic[] = []
    const onEvent = ({ topic }: BeaconEvent) => seen.push(topic)
    const listening = listenToEvents({ urls: [node.url], clock: systemClock }, onEvent, stop.signal)
    await waitUntil(() => network.listenerCount > 0)
    network.advance(8)
    await waitUntil(() => seen.filter((topic) => topic === newBlock).length >= 8)
    assert.equal(seen.includes('head_v2'), known !== 'before Gloas')
    assert.equal(seen.includes('execution_payload'), known !== 'before Gloas')
    assert.equal(seen.includes('head'), known !== 'without head')
    stop.abort()
    await listening
  })
}
