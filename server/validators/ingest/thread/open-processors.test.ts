// Epochs that are processed on another thread result in the same rows, and that thread has no access to the store.
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { systemClock } from '#runtime/clock.ts'
import { openReplay, type Replay } from '#test/beacon-replay.ts'
import { openContext, type TestContext } from '#test/context.ts'
import { openFollower } from '#test/open-follower.ts'
import { everythingStored, storedRows } from '#test/stored-duties.ts'
import type { EpochProcessor } from '../epochs/epoch-processor.ts'
import { type ProcessedSegment, segmentBuffers } from '../epochs/processed-segment.ts'
import { Follower } from '../follow.ts'
import { withChainTimes } from '../read/chain-identity.ts'
import { openEpochProcessors } from './open-processors.ts'
import { readProcessorStart } from './read-processor-start.ts'

const contextFor = (node: Replay) =>
  openContext({
    validators: {
      networks: { hoodi: { epochsPerHour: 2, epochsPerDay: 4, beacon: { urls: [node.url], fromEpoch: 3 } } },
    },
  })

const dump = async (context: TestContext) => ({
  stored: await everythingStored(context),
  hours: await storedRows(context, 'hoodi', 'hours'),
  validators: await context.ingest.all('select * from validators order by validator_index'),
})

const { signal } = new AbortController()

test('processing on another thread stores the same rows as processing on this one', async () => {
  await using node = await openReplay()
  await using opened = await contextFor(node)
  await using openedForThread = await contextFor(node)
  const context = { ...opened, settings: await withChainTimes({ ...opened, clock: systemClock }) }
  await (await openFollower({ ...context, clock: systemClock }, 'hoodi')).catchUp(signal)
  const contextForThread = {
    ...openedForThread,
    settings: await withChainTimes({ ...openedForThread, clock: systemClock }),
  }
  await using processors = openEpochProcessors([await readProcessorStart(contextForThread, 'hoodi')])
  await new Follower(contextForThread, 'hoodi', processors.of('hoodi')).catchUp(signal)
  const [one, other] = [await dump(context), await dump(contextForThread)]
  assert(one.hours.length > 100 && one.validators.length === 64)
  assert.deepEqual(other, one)
})

test('requesting a segment again returns the same result', async () => {
  await using node = await openReplay()
  await using context = await contextFor(node)
  await using processors = openEpochProcessors([await readProcessorStart(context, 'hoodi')])
  const processor = processors.of('hoodi')
  const processFrom = (from: number) => processor.processSegment({ from, until: from + 2 }, signal)
  const first = await processFrom(4)
  assert.deepEqual(await processFrom(4), first)
  const second = await processFrom(6)
  assert.equal(second.registry.index.length, 0, 'the registry already has all validators')
  assert.deepEqual(await processFrom(6), second)
  // The state of the earlier segment is gone, so it starts again, with the registry.
  assert.deepEqual(await processFrom(4), first)
})

test('all columns that grow with the network are transferred, not copied', async () => {
  await using node = await openReplay()
  await using context = await contextFor(node)
  await using processors = openEpochProcessors([await readProcessorStart(context, 'hoodi')])
  const segment = await processors.of('hoodi').processSegment({ from: 4, until: 5 }, signal)
  const buffers = new Set(segmentBuffers(segment))
  const columns = [segment.validator, ...Object.values(segment.sums), ...Object.values(segment.registry)]
  assert(columns.every((column) => ArrayBuffer.isView(column) && buffers.has(column.buffer as ArrayBuffer)))
})

test('the buffers of a written segment are released at once', async () => {
  await using node = await openReplay()
  await using context = await contextFor(node)
  const settings = await withChainTimes({ ...context, clock: systemClock })
  await using processors = openEpochProcessors([await readProcessorStart({ ...context, settings }, 'hoodi')])
  const processor = processors.of('hoodi')
  const segments: ProcessedSegment[] = []
  const recording: EpochProcessor = {
    ...processor,
    processSegment: async (request, stop) => {
      const segment = await processor.processSegment(request, stop)
      segments.push(segment)
      return segment
    },
  }
  await new Follower({ ...context, settings }, 'hoodi', recording).catchUp(signal)
  assert(segments.length > 1)
  const kept = segments.flatMap(segmentBuffers).filter(({ detached }) => !detached)
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
      const alias = `${specifier.split('/')[0]}/*`
      if (specifier.startsWith('.')) visit(new URL(specifier, file))
      else if (imports[alias]) visit(new URL(imports[alias].replace('*', specifier.slice(alias.length - 1)), root))
      else seen.add(specifier)
    }
  }
  visit(new URL('./processor-thread.ts', import.meta.url))
  const loaded = [...seen]
  assert(loaded.length > 20 && loaded.some((file) => file.endsWith('/epoch-processor.ts')))
  assert.deepEqual(
    loaded.filter((file) => /sqlite|postgres|storage\/(engines|open)/.test(file)),
    [],
  )
})
