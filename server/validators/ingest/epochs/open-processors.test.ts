// Epochs made on a thread of their own: the same rows as here, and no way to the store from there.
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { systemClock } from '#runtime/clock.ts'
import { openReplay, type Replay } from '#test/beacon-replay.ts'
import { openContext, type TestContext } from '#test/context.ts'
import { everythingStored, storedRows } from '#test/stored-duties.ts'
import { Follower } from '../follow.ts'
import { withChainTimes } from '../read/chain-identity.ts'
import { openFollower, readProcessorStart } from '../start.ts'
import { type EpochProcessor, type ProcessedSegment, segmentBuffers } from './epoch-processor.ts'
import { openEpochProcessors } from './open-processors.ts'

const contextFor = (node: Replay) =>
  openContext({
    validators: {
      networks: { hoodi: { epochsPerHour: 2, epochsPerDay: 4, beacon: { urls: [node.url], fromEpoch: 3 } } },
    },
  })

const dump = async (context: TestContext) => ({
  stored: await everythingStored(context),
  hours: await storedRows(context, 'hoodi', 'hours'),
  audits: await context.duties.all('select * from reward_audits'),
  validators: await context.state.all('select * from validators order by validator_index'),
})

const { signal } = new AbortController()

test('a network read on another thread has the rows of one read here', async () => {
  await using node = await openReplay()
  await using near = await contextFor(node)
  await using far = await contextFor(node)
  const here = { ...near, settings: await withChainTimes({ ...near, clock: systemClock }) }
  await (await openFollower({ ...here, clock: systemClock }, 'hoodi')).catchUp(signal)
  const context = { ...far, settings: await withChainTimes({ ...far, clock: systemClock }) }
  await using mills = openEpochProcessors([await readProcessorStart(context, 'hoodi')])
  await new Follower(context, 'hoodi', mills.of('hoodi')).catchUp(signal)
  const [one, other] = [await dump(here), await dump(context)]
  assert(one.hours.length > 100 && one.audits.length > 0 && one.validators.length === 64)
  assert.deepEqual(other, one)
})

test('a piece that could not be written is made again, the same', async () => {
  await using node = await openReplay()
  await using context = await contextFor(node)
  await using mills = openEpochProcessors([await readProcessorStart(context, 'hoodi')])
  const mill = mills.of('hoodi')
  const ask = (from: number) => mill.processSegment({ from, until: from + 2, scores: new Map() }, signal)
  const first = await ask(4)
  assert.deepEqual(await ask(4), first)
  const second = await ask(6)
  assert.equal(second.registry.index.length, 0, 'the registry had them all before')
  assert.deepEqual(await ask(6), second)
  // The one before it is no longer at hand: it is begun anew, with the registry.
  assert.deepEqual(await ask(4), first)
})

test('everything that grows with the network goes over without a copy', async () => {
  await using node = await openReplay()
  await using context = await contextFor(node)
  await using mills = openEpochProcessors([await readProcessorStart(context, 'hoodi')])
  const piece = await mills.of('hoodi').processSegment({ from: 4, until: 5, scores: new Map() }, signal)
  const buffers = new Set(segmentBuffers(piece))
  const columns = [piece.validator, ...Object.values(piece.sums), ...Object.values(piece.registry)]
  assert(columns.every((column) => ArrayBuffer.isView(column) && buffers.has(column.buffer as ArrayBuffer)))
})

test('what has been written is let go of at once, and the next piece does not miss it', async () => {
  await using node = await openReplay()
  await using context = await contextFor(node)
  const settings = await withChainTimes({ ...context, clock: systemClock })
  await using mills = openEpochProcessors([await readProcessorStart({ ...context, settings }, 'hoodi')])
  const mill = mills.of('hoodi')
  const pieces: ProcessedSegment[] = []
  const watching: EpochProcessor = {
    ...mill,
    processSegment: async (request, stop) => {
      const piece = await mill.processSegment(request, stop)
      pieces.push(piece)
      return piece
    },
  }
  await new Follower({ ...context, settings }, 'hoodi', watching).catchUp(signal)
  assert(pieces.length > 1)
  const kept = pieces.flatMap(segmentBuffers).filter(({ detached }) => !detached)
  assert.deepEqual(kept, [])
})

test('the thread loads nothing that opens the store', () => {
  const imports = JSON.parse(readFileSync(new URL('../../../../package.json', import.meta.url), 'utf8')).imports
  const root = new URL('../../../..', import.meta.url)
  const seen = new Set<string>()
  const visit = (file: URL) => {
    if (seen.has(file.href)) return
    seen.add(file.href)
    const text = readFileSync(fileURLToPath(file), 'utf8').replaceAll(/^import type [\s\S]*?from '.*'$/gm, '')
    for (const [, specifier = ''] of text.matchAll(/(?:from|import\() ?'([^']+)'/g)) {
      const door = `${specifier.split('/')[0]}/*`
      if (specifier.startsWith('.')) visit(new URL(specifier, file))
      else if (imports[door]) visit(new URL(imports[door].replace('*', specifier.slice(door.length - 1)), root))
      else seen.add(specifier)
    }
  }
  visit(new URL('./processor-thread.ts', import.meta.url))
  const loaded = [...seen]
  assert(loaded.length > 20 && loaded.some((one) => one.endsWith('/mill.ts')))
  assert.deepEqual(
    loaded.filter((one) => /sqlite|postgres|store\/(engines|open)/.test(one)),
    [],
  )
})
