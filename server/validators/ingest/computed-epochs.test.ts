// Recorded chains whose states are computed from blocks lead to the same rows as the states of their nodes.
import assert from 'node:assert/strict'
import { mkdtempDisposable, readdir, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { systemClock } from '#runtime/clock.ts'
import { openBeacon } from '#sources/beacon/client.ts'
import { openReplay, type ReplayOptions } from '#test/beacon-replay.ts'
import { openContext, type TestContext } from '#test/context.ts'
import { slotOfBlock, withHead } from '#test/recorded-chain.ts'
import { storedRows } from '#test/stored-duties.ts'
import type { Signatures } from '../chain/messages.ts'
import { coveredEpochs } from '../duties/coverage.ts'
import { createComputedProcessor } from './epochs/computed-processor.ts'
import { type Carry, processEpoch } from './epochs/process-epoch.ts'
import { Sums } from './epochs/sums.ts'
import { Follower } from './follow.ts'
import { withChainTimes } from './read/chain-identity.ts'

interface Recording extends ReplayOptions {
  readonly recording: string
  readonly name: string
  readonly signatures: Signatures
}

const lodestar = (name: string): Recording => ({
  ...{ name: `lodestar/${name}`, recording: `lodestar/${name}`, signatures: 'none' },
})

const recordings: readonly Recording[] = [
  ...['deneb-to-electra', 'electra', 'electra-to-fulu', 'electra-upgrade', 'fulu', 'leak'].map(lodestar),
  {
    ...{ name: 'gloas', recording: 'gloas', more: ['debug-states'], signatures: 'all' },
  },
]

const beaconOf = (url: string) =>
  openBeacon({ network: 'hoodi', urls: [url], timeoutMs: 10_000, clock: systemClock, backoffMs: 1 })

const contextFor = async (url: string): Promise<TestContext> => {
  const beacon = { urls: [url], fromEpoch: 0 }
  const context = await openContext({
    validators: { networks: { hoodi: { epochsPerHour: 2, epochsPerDay: 4, beacon } } },
  })
  return Object.assign(context, { settings: await withChainTimes({ ...context, clock: systemClock }) })
}

const everything = async (context: TestContext) => ({
  covered: await coveredEpochs(context.duties, 'hoodi'),
  hours: await storedRows(context, 'hoodi', 'hours'),
  validators: await context.ingest.all('select * from validators order by validator_index'),
})

const { signal } = new AbortController()

for (const { name, signatures, ...replay } of recordings)
  test(`computed states lead to the rows of the states of the node: ${name}`, async () => {
    await using node = await openReplay({ ...replay, meddle: withHead(replay.recording) })
    await using expected = await contextFor(node.url)
    await new Follower(expected, 'hoodi', beaconOf(node.url)).catchUp(signal)
    const before = node.requests.length
    await using context = await contextFor(node.url)
    await using folder = await mkdtempDisposable(join(tmpdir(), 'tetrad-states-'))
    const options = {
      clock: systemClock,
      folder: folder.path,
      signatures,
      time: { epochsPerHour: 2, epochsPerDay: 4, daysKept: 1 },
    } as const
    await using processor = createComputedProcessor(beaconOf(node.url), options)
    await new Follower(context, 'hoodi', processor).catchUp(signal)
    assert.deepEqual(await everything(context), await everything(expected))
    const states = node.requests.slice(before).filter((request) => request.includes('/debug/beacon/states/'))
    // By its root, which is not recorded, and by its slot.
    assert(states.length <= 2, states.join(', '))
  })

const fulu = 'lodestar/fulu'
const time = { epochsPerHour: 2, epochsPerDay: 4, daysKept: 1 }
const optionsFor = (folder: string) => ({ clock: systemClock, folder, signatures: 'none', time }) as const
/** What a node without states answers. */
const blocksOnly = /^\/eth\/v\d\/(beacon\/(blocks|headers|genesis)|config|node\/version|beacon\/states\/head\/finality)/

/** The rows of the recorded chain, from the states of the node. */
async function expectedRows(): Promise<object> {
  await using node = await openReplay({ recording: fulu, meddle: withHead(fulu) })
  await using context = await contextFor(node.url)
  await new Follower(context, 'hoodi', beaconOf(node.url)).catchUp(signal)
  return await everything(context)
}

test('after a restart, a snapshot is the beginning, and the node needs no state', async () => {
  await using folder = await mkdtempDisposable(join(tmpdir(), 'tetrad-states-'))
  await using early = await openReplay({ recording: fulu, meddle: withHead(fulu, 80, 6) })
  await using context = await contextFor(early.url)
  {
    await using processor = createComputedProcessor(beaconOf(early.url), optionsFor(folder.path))
    await new Follower(context, 'hoodi', processor).catchUp(signal)
  }
  const stored = await coveredEpochs(context.duties, 'hoodi')
  assert.deepEqual(stored, [{ from: 0, until: 5 }])
  const withHeadAtEnd = withHead(fulu)
  const meddle: typeof withHeadAtEnd = (exchange, count) =>
    withHeadAtEnd(blocksOnly.test(exchange.path) ? exchange : { ...exchange, status: 404, body: '{}' }, count)
  await using later = await openReplay({ recording: fulu, meddle })
  await using processor = createComputedProcessor(beaconOf(later.url), optionsFor(folder.path))
  await new Follower(context, 'hoodi', processor).catchUp(signal)
  assert.deepEqual(await everything(context), await expectedRows())
  assert.deepEqual(
    later.requests.filter((request) => request.includes('/debug/')),
    [],
  )
})

test('a damaged snapshot is deleted, and an older one or a state of the node is used', async () => {
  await using folder = await mkdtempDisposable(join(tmpdir(), 'tetrad-states-'))
  await using node = await openReplay({ recording: fulu, meddle: withHead(fulu) })
  await using context = await contextFor(node.url)
  for (const damage of [false, true]) {
    if (damage) for (const name of await readdir(folder.path)) await writeFile(join(folder.path, name), 'not a state')
    await using processor = createComputedProcessor(beaconOf(node.url), optionsFor(folder.path))
    const segment = await processor.processSegment({ from: 2, until: 3 }, signal)
    assert(segment.validator.length > 0)
    const next = await processor.processSegment({ from: 3, until: 4 }, signal)
    assert(next.validator.length > 0)
  }
  await using processor = createComputedProcessor(beaconOf(node.url), optionsFor(folder.path))
  await new Follower(context, 'hoodi', processor).catchUp(signal)
  assert.deepEqual(await everything(context), await expectedRows())
})

test('a node that returns altered blocks is distrusted, and the other one is used', async () => {
  await using folder = await mkdtempDisposable(join(tmpdir(), 'tetrad-states-'))
  const head = withHead(fulu)
  await using liar = await openReplay({
    recording: fulu,
    meddle: (exchange, count) => {
      const shown = head(exchange, count)
      if (shown?.bodyEncoding !== 'base64' || !exchange.path.endsWith('/40')) return shown
      const bytes = Buffer.from(shown.body, 'base64')
      // In the signature of the RANDAO reveal: the root stays that of the altered block.
      bytes[300] = (bytes[300] as number) ^ 1
      return { ...shown, body: bytes.toString('base64') }
    },
  })
  await using honest = await openReplay({ recording: fulu, meddle: head })
  await using context = await contextFor(liar.url)
  const both = openBeacon({
    ...{ network: 'hoodi', urls: [liar.url, honest.url], timeoutMs: 10_000, clock: systemClock, backoffMs: 1 },
  })
  await using processor = createComputedProcessor(both, optionsFor(folder.path))
  await new Follower(context, 'hoodi', processor).catchUp(signal)
  assert.deepEqual(await everything(context), await expectedRows())
  assert(both.each()[0]?.isDistrusted())
})

test('a node that only returns an altered block stops the network, and what is stored stays', async () => {
  await using folder = await mkdtempDisposable(join(tmpdir(), 'tetrad-states-'))
  const head = withHead(fulu)
  await using liar = await openReplay({
    recording: fulu,
    meddle: (exchange, count) => {
      const shown = head(exchange, count)
      if (shown?.bodyEncoding !== 'base64' || !exchange.path.endsWith('/70')) return shown
      const bytes = Buffer.from(shown.body, 'base64')
      bytes[300] = (bytes[300] as number) ^ 1
      return { ...shown, body: bytes.toString('base64') }
    },
  })
  await using context = await contextFor(liar.url)
  await using processor = createComputedProcessor(beaconOf(liar.url), optionsFor(folder.path))
  const follower = new Follower(context, 'hoodi', processor)
  await assert.rejects(follower.catchUp(signal), /slot 70.* has the root 0x[0-9a-f]{64}, but the block states/)
  const [covered] = await coveredEpochs(context.duties, 'hoodi')
  assert.equal(covered?.from, 0)
  assert(covered.until > 2 && covered.until < 9, `stored until ${covered.until}`)
})

test('epochs that are not final have the figures that they have when they are final', async () => {
  await using folder = await mkdtempDisposable(join(tmpdir(), 'tetrad-states-'))
  await using node = await openReplay({ recording: fulu, meddle: withHead(fulu, 80, 6) })
  await using full = await openReplay({ recording: fulu, meddle: withHead(fulu) })
  await using early = createComputedProcessor(beaconOf(node.url), optionsFor(folder.path))
  await using late = createComputedProcessor(beaconOf(full.url), { ...optionsFor(folder.path), folder: undefined })
  const { rules } = await beaconOf(node.url).chain()
  let carry: Carry | undefined
  for (const epoch of [5, 6, 7]) {
    if (epoch > 5)
      await assert.rejects(
        early.processSegment({ from: epoch, until: epoch + 1 }, signal),
        /the nodes call epoch \d+ final/,
      )
    const pending = new Sums()
    const data = await early.readPending(epoch, signal, (epochs) => epochs.read(epoch))
    carry = processEpoch(rules, data, carry, pending).carry
    if (epoch === 5) continue
    const { validator, sums } = await late.processSegment({ from: epoch, until: epoch + 1 }, signal)
    assert.deepEqual(pending.take(), { validator, sums })
  }
})

test('a chain process that is killed starts again, and every figure is right', async () => {
  await using folder = await mkdtempDisposable(join(tmpdir(), 'tetrad-states-'))
  let kills = 0
  let processor: ReturnType<typeof createComputedProcessor> | undefined
  const head = withHead(fulu)
  await using node = await openReplay({
    recording: fulu,
    meddle: (exchange, count) => {
      const slot = Number(slotOfBlock.exec(exchange.path)?.[1])
      const pid = processor?.pid
      if ((slot === 40 || slot === 90) && pid !== undefined && kills < 2) {
        kills += 1
        process.kill(pid, 'SIGKILL')
      }
      return head(exchange, count)
    },
  })
  await using context = await contextFor(node.url)
  await using opened = createComputedProcessor(beaconOf(node.url), optionsFor(folder.path))
  processor = opened
  await new Follower(context, 'hoodi', opened).catchUp(signal)
  assert.equal(kills, 2)
  assert.deepEqual(await everything(context), await expectedRows())
})
