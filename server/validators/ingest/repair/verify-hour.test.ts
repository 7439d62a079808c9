// Verifies stored hours against the recorded node that they were ingested from.
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import type { Epoch } from '#core/chain-time.ts'
import { systemClock } from '#runtime/clock.ts'
import { openReplay, type Replay } from '#test/beacon-replay.ts'
import { openContext, type TestContext } from '#test/context.ts'
import { openFollower } from '#test/open-follower.ts'
import { dropHours } from '../../duties/hours.ts'
import { groupOf, levels, networkId, rowId, segmentAt } from '../../duties/layout.ts'
import { packCells } from '../../duties/pack-row.ts'
import { addRow, RowReader } from '../../duties/packed-row.ts'
import { Cells } from '../../duties/row-format.ts'
import { dataByIds, putRows } from '../../duties/rows.ts'
import { measures } from '../../method/measures.ts'
import { withChainTimes } from '../read/chain-identity.ts'
import { storedHours, verifyHour } from './verify-hour.ts'

/** An hour has two epochs. 13 epochs are stored, which are six and a half hours. */
async function openIngested(node: Replay, watch: readonly string[] = []) {
  const hoodi = { epochsPerHour: 2, epochsPerDay: 4, beacon: { urls: [node.url], fromEpoch: 0 }, watch: [...watch] }
  const context = await openContext({ validators: { networks: { hoodi } } })
  const live = { ...context, clock: systemClock }
  const settings = await withChainTimes(live)
  await (await openFollower({ ...live, settings }, 'hoodi')).catchUp(new AbortController().signal)
  return { ...context, settings }
}

/** Changes the stored row that contains this validator in the hour. */
async function changeRow(
  { dutiesState, settings }: TestContext,
  hour: number,
  validator: number,
  change: (cells: Cells) => void,
): Promise<void> {
  const { hourPart: segment } = segmentAt(settings.validators.networks.hoodi, (hour * 2) as Epoch)
  const id = rowId(levels.hours, networkId('hoodi'), segment, groupOf(levels.hours, validator))
  await dutiesState.write(async (tx) => {
    const cells = new Cells(levels.hours.validators, measures.length)
    const before = (await dataByIds(tx, levels.hours.table, [id])).get(id)
    if (before) addRow(new RowReader(measures.length), before, cells)
    change(cells)
    await putRows(tx, levels.hours.table, [{ id, data: packCells(cells) }])
  })
}

const signal = () => AbortSignal.timeout(60_000)

/** The tests share a store. Each test that changes it changes other hours. */
function onStore(name: string, watch: readonly string[], define: (at: () => Ingested) => void): void {
  describe(name, () => {
    let node: Replay
    let context: Ingested
    before(async () => {
      node = await openReplay()
      context = await openIngested(node, watch)
    })
    after(async () => {
      await context[Symbol.asyncDispose]()
      await node[Symbol.asyncDispose]()
    })
    define(() => context)
  })
}
type Ingested = Awaited<ReturnType<typeof openIngested>>

onStore('all validators', [], (at) => {
  test('stored hours agree with the node, and an incomplete hour is not verified', async () => {
    const context = at()
    assert.deepEqual(await storedHours(context, 'hoodi'), [{ from: 0, until: 6 }])
    for (const hour of [0, 3, 5]) {
      const { checked, differing } = await verifyHour(context, 'hoodi', hour, signal())
      assert.deepEqual(differing, [])
      assert.ok(checked > 10)
    }
  })

  test('a changed figure, a missing row and an unknown row are reported', async () => {
    const context = at()
    await changeRow(context, 3, 4, (cells) => {
      cells.add(4, measures.indexOf('earnings'), 1)
      cells.isPresent[5] = 0
      cells.isPresent[6] = 0
    })
    await changeRow(context, 3, 9999, (cells) => {
      cells.isPresent[9999 % levels.hours.validators] = 1
    })
    const { differing } = await verifyHour(context, 'hoodi', 3, signal())
    assert.match(
      differing[0] ?? '',
      /^hoodi hour 3 validator 4: earnings is -?\d+ in the store and -?\d+ according to the node$/,
    )
    assert.deepEqual(differing.slice(1), [
      'hoodi hour 3 validator 9999: the node has no duty for it',
      'hoodi hour 3 validator 5: no row is stored',
      'hoodi hour 3 validator 6: no row is stored',
    ])
  })

  test('execution rewards are not compared if an execution node was added since', async () => {
    const context = at()
    await changeRow(context, 1, 0, (cells) => {
      cells.columns[measures.indexOf('execution_unknown')]?.fill(0)
      for (let cell = 0; cell < cells.count; cell++) cells.add(cell, measures.indexOf('priority_fee'), 77)
    })
    assert.deepEqual((await verifyHour(context, 'hoodi', 1, signal())).differing, [])
  })

  test('hours that retention deleted are not verified', async () => {
    const context = at()
    await context.dutiesState.write((tx) => dropHours(tx, 'hoodi', context.settings.validators.networks.hoodi, 2))
    assert.deepEqual(await storedHours(context, 'hoodi'), [{ from: 4, until: 6 }])
    assert.deepEqual(await storedHours(context, 'mainnet'), [])
  })
})

onStore('a watch list', ['3', '7'], (at) => {
  test('with a watch list, only its validators are compared', async () => {
    const context = at()
    assert.deepEqual(await verifyHour(context, 'hoodi', 2, signal()), { checked: 2, differing: [] })
  })

  test('if the watch list has changed, only validators on both lists are compared', async () => {
    const context = at()
    const hoodi = context.settings.validators.networks.hoodi
    const networks = { ...context.settings.validators.networks, hoodi: { ...hoodi, watch: ['3', '5'] } }
    const now = {
      ...context,
      settings: { ...context.settings, validators: { ...context.settings.validators, networks } },
    }
    assert.deepEqual(await verifyHour(now, 'hoodi', 2, signal()), { checked: 1, differing: [] })
  })
})
