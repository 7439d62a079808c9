// After a repair, the store is equal to one that was never wrong. Epochs that cannot be read again are unchanged.
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import fc from 'fast-check'
import type { Epoch } from '#core/chain-time.ts'
import type { Range } from '#core/ranges.ts'
import { systemClock } from '#runtime/clock.ts'
import type { SimulatedBeaconNode } from '#simulator/beacon/node.ts'
import { presentForks } from '#simulator/beacon/plan.ts'
import { openBeacon } from '#sources/beacon/client.ts'
import { openDuties } from '#storage/open.ts'
import type { State } from '#storage/state.ts'
import { stateWith } from '#test/authorization.ts'
import { openNodeOfRun } from '#test/client-of-run.ts'
import { openContext, type TestContext } from '#test/context.ts'
import { assertSameAnswers, catchUp, collectAnswers, openOracleNode, oracleSettings } from '#test/ingest-oracle.ts'
import { openQuietServer } from '#test/quiet-server.ts'
import { type CompletedNetwork, simulateNetwork } from '#test/simulator/simulate-network.ts'
import { everythingStored } from '#test/stored-duties.ts'
import { coveredEpochs } from '../../duties/coverage.ts'
import { hourEpochs } from '../../duties/hours.ts'
import { dayPartAt, epochsOfUnit, type Level, levels, missedLevel, presenceLevel, unitIn } from '../../duties/layout.ts'
import { listMissedDuties, missedFields } from '../../duties/missed.ts'
import { packCells } from '../../duties/pack-row.ts'
import { addRow, RowReader } from '../../duties/packed-row.ts'
import { emptySet, packSet } from '../../duties/presence.ts'
import { Cells } from '../../duties/row-format.ts'
import { type PackedRow, rowsBetween } from '../../duties/rows.ts'
import { dutiesOnThisThread } from '../../duties/store.ts'
import { measures } from '../../method/measures.ts'
import { Follower } from '../follow.ts'
import { withChainTimes } from '../read/chain-identity.ts'
import type { ExecutionSource } from '../read/execution.ts'

const signal = new AbortController().signal
const validators = 24

/** A UTC day has three epochs of 8 hours, so day parts have one or two epochs. 16 day parts take 19 epochs. */
const simulateWorld = ({ epochs, slotSeconds } = { epochs: 35, slotSeconds: 7200 }): CompletedNetwork => ({
  ...simulateNetwork('repair', {
    ...{ epochs, slotsPerEpoch: 4, slotSeconds, validators, committeesPerSlot: 2, syncSeats: 8 },
    ...{ outage: { from: 0, until: 0 }, missed: 0.08, orphaned: 0.05, slashing: 0.01, balanceChanges: 0.05 },
    ...{ forkEpochs: presentForks, hasExecution: false },
  }),
  genesisUnix: Date.UTC(2026, 5, 1, 4) / 1000,
})

/** Simulated once for both suites that use it. */
const usualWorld = simulateWorld()

const settingsFor = (url: string, more: object = {}) => ({
  validators: {
    networks: {
      hoodi: { epochsPerHour: 1, epochsPerDay: 2, beacon: { urls: [url], fromEpoch: 0 }, ...more },
    },
  },
})

type ContextWithFollower = TestContext & { readonly follower: Follower }

async function contextOn(url: string, more: object = {}): Promise<ContextWithFollower> {
  const context = await openContext(settingsFor(url, more))
  return withFollower(context, url)
}

async function withFollower(
  context: TestContext,
  url: string,
  execution?: ExecutionSource,
): Promise<ContextWithFollower> {
  const settings = await withChainTimes({ ...context, clock: systemClock })
  const beacon = openBeacon({ network: 'hoodi', urls: [url], timeoutMs: 10_000, clock: systemClock, backoffMs: 1 })
  const configured = { ...context, settings }
  return { ...configured, follower: new Follower(configured, 'hoodi', beacon, execution) }
}

const timeOf = (context: TestContext) => context.settings.validators.networks.hoodi

/** All stored data of the network, including presence and missed duties. */
async function stored(context: TestContext): Promise<object> {
  const covered = await coveredEpochs(context.duties, 'hoodi')
  const all = { from: covered[0]?.from ?? 0, until: covered.at(-1)?.until ?? 0 }
  const everyone = Array.from({ length: validators + 8 }, (_, validator) => validator)
  const input = { network: 'hoodi', time: timeOf(context), validators: everyone, epochs: all } as const
  const missed = (await listMissedDuties(context.duties, input)).map((duty) => JSON.stringify(duty))
  const presence = await context.dutiesState.all('select * from duty_presence order by id')
  return { ...(await everythingStored(context)), missed, presence }
}

const rowsOf = async (state: State, { table }: Level): Promise<PackedRow[]> =>
  (await Array.fromAsync(rowsBetween(state, table, { from: 0, until: 2 ** 53 - 1 }))).flat()

const write = (state: State, { table }: Level, id: number, data: Uint8Array) =>
  state.write((tx) => tx.run(`update ${table} set data = ? where id = ?`, data, id))

/** Changes one figure of a row. Returns the epochs of its day part. */
async function falsify(context: TestContext, level: Level, pick = 0): Promise<Range> {
  const rows = await rowsOf(context.dutiesState, level)
  const { id, data } = rows.at(pick % rows.length) as PackedRow
  const cells = new Cells(level.validators * level.partsPerRow, measures.length)
  addRow(new RowReader(measures.length), data, cells)
  const present = [...cells.isPresent.keys()].filter((cell) => cells.isPresent[cell] === 1)
  const cell = present[pick % present.length] as number
  cells.add(cell, measures.indexOf('sync_reward'), 1000 + pick)
  await write(context.dutiesState, level, id, packCells(cells))
  if (level === levels.hours) return epochsOfUnit(timeOf(context), level, unitIn(level, id))
  return epochsOfUnit(timeOf(context), levels.days, unitIn(level, id) * level.partsPerRow + (cell % level.partsPerRow))
}

/** Flips a bit of a row, which its checksum detects. Returns the epochs of the row. */
async function damage(context: TestContext, level: Level, pick = 0): Promise<Range> {
  const rows = await rowsOf(context.dutiesState, level)
  const { id, data } = rows.at(pick % rows.length) as PackedRow
  const bytes = Uint8Array.from(data)
  bytes[bytes.length - 1] = (bytes.at(-1) as number) ^ 1
  await write(context.dutiesState, level, id, bytes)
  return epochsOfUnit(timeOf(context), level, unitIn(level, id))
}

/** A store with all epochs up to `until`. Every test restores it. */
function onStore(
  name: string,
  { until, world, settings }: { until: number; world?: Parameters<typeof simulateWorld>[0]; settings?: object },
  define: (at: () => ContextWithFollower & RepairScenario) => void,
): void {
  describe(name, () => {
    let scene: ContextWithFollower & RepairScenario
    let node: SimulatedBeaconNode
    before(async () => {
      const lacking = new Set<number>()
      const options = { lacks: (slot: number) => lacking.has(slot), finalized: () => until + 1 }
      node = await openNodeOfRun(world ? simulateWorld(world) : usualWorld, options)
      const context = await contextOn(node.url, settings)
      await context.follower.catchUp(signal)
      scene = { ...context, lacking, url: node.url, clean: await stored(context) }
    })
    after(async () => {
      await scene[Symbol.asyncDispose]()
      await node[Symbol.asyncDispose]()
    })
    define(() => scene)
  })
}

interface RepairScenario {
  readonly url: string
  /** Slots whose blocks the node does not return. */
  readonly lacking: Set<number>
  readonly clean: object
}

onStore('days and short spans', { until: 24 }, (at) => {
  test('the store has both', async () => {
    const counts = await Promise.all([levels.days, levels.shortSpans].map((level) => rowsOf(at().dutiesState, level)))
    assert(counts.every((rows) => rows.length > 1))
  })

  test('repairing correct epochs changes nothing, for any range', async () => {
    const { follower, dutiesState, clean } = at()
    const bytes = await allBytes(dutiesState)
    const left: number[] = []
    const { parts, epochs, changed, failed } = await follower.repair({ from: 0, until: 24 }, signal, (n) =>
      left.push(n),
    )
    assert.deepEqual({ epochs, changed, failed }, { epochs: 24, changed: 0, failed: undefined })
    assert(parts > 12)
    assert.deepEqual([left[0], left.at(-1)], [23, 0])
    // A single epoch selects its whole day part.
    const single = await follower.repair({ from: 21, until: 22 }, signal)
    assert.deepEqual([single.parts, single.changed], [1, 0])
    assert.deepEqual(await stored(at()), clean)
    assert.deepEqual(await allBytes(dutiesState), bytes)
  })

  for (const [name, level] of Object.entries({
    day: levels.days,
    'short span': levels.shortSpans,
    hour: levels.hours,
  }))
    test(`a wrong figure in the row of a ${name} is corrected, and nothing else changes`, async () => {
      const { follower, clean, dutiesState } = at()
      const bytes = await allBytes(dutiesState)
      const epochs = await falsify(at(), level, 1)
      assert.notDeepEqual(await stored(at()), clean)
      const { changed, failed } = await follower.repair(epochs, signal)
      assert.deepEqual({ changed, failed }, { changed: 1, failed: undefined })
      assert.deepEqual(await stored(at()), clean)
      // The part was merged into its span again.
      assert.deepEqual(await allBytes(dutiesState), bytes)
      assert.equal((await follower.repair(epochs, signal)).changed, 0)
    })

  test('wrong presence, missed duties, audits and unexplained changes are corrected', async () => {
    const { follower, clean, dutiesState } = at()
    const time = timeOf(at())
    const withMissed = (await rowsOf(dutiesState, missedLevel)).at(-1) as PackedRow
    const part = unitIn(missedLevel, withMissed.id)
    const epochs = epochsOfUnit(time, missedLevel, part)
    const cells = new Cells(1, missedFields.length)
    cells.isPresent[0] = 1
    cells.add(0, missedFields.indexOf('delay'), 3)
    await write(dutiesState, missedLevel, withMissed.id, packCells(cells))
    const presence = (await rowsOf(dutiesState, presenceLevel)).find(({ id }) => unitIn(presenceLevel, id) === part)
    await write(dutiesState, presenceLevel, presence?.id as number, packSet(emptySet()))
    await dutiesState.write(async (tx) => {
      const columns = ['network', 'epoch', 'validators', 'in_gwei', 'out_gwei']
      await tx.run('delete from unexplained_balance_changes where epoch = ?', epochs.from)
      await tx.insertMany('unexplained_balance_changes', columns, [[2, epochs.from, 7, 7, 7]])
    })
    assert.notDeepEqual(await stored(at()), clean)
    const { changed } = await follower.repair(epochs, signal)
    assert(changed > 1)
    assert.deepEqual(await stored(at()), clean)
  })

  test('any set of wrong figures is corrected', async () => {
    const { follower, clean } = at()
    const level = fc.constantFrom<Level>(levels.hours, levels.days, levels.shortSpans)
    const changes = fc.array(fc.tuple(level, fc.nat({ max: 10_000 })), { minLength: 1, maxLength: 6 })
    await fc.assert(
      fc.asyncProperty(changes, async (some) => {
        for (const [changedLevel, pick] of some) await falsify(at(), changedLevel, pick)
        assert.equal((await follower.repair({ from: 0, until: 24 }, signal)).failed, undefined)
        assert.deepEqual(await stored(at()), clean)
      }),
      { numRuns: 2 },
    )
  })

  test('a part that the node cannot supply is unchanged, and parts before it are replaced', async () => {
    const { follower, clean, lacking, dutiesState } = at()
    const first = await falsify(at(), levels.shortSpans, 1)
    const time = timeOf(at())
    const end = epochsOfUnit(time, levels.days, dayPartAt(time, (first.until + 6) as Epoch))
    for (let slot = (end.until - 1) * 4; slot < end.until * 4; slot++) lacking.add(slot)
    const bytes = await rowsOf(dutiesState, levels.hours)
    const { parts, changed, failed } = await follower.repair({ from: first.from, until: end.until }, signal)
    // Verifying an epoch needs the blocks of the next one.
    assert(failed && failed.fromEpoch > first.until && failed.untilEpoch <= end.until)
    assert.match(failed.reason, /slot \d+|epoch \d+/)
    assert.deepEqual([parts > 1, changed], [true, 1])
    assert.deepEqual(await stored(at()), clean)
    assert.deepEqual(await rowsOf(dutiesState, levels.hours), bytes)
    // If the first part fails, nothing changes at all.
    const hour = (await rowsOf(dutiesState, levels.hours)).findIndex(
      ({ id }) => epochsOfUnit(time, levels.hours, unitIn(levels.hours, id)).from === end.from,
    )
    await falsify(at(), levels.hours, hour)
    const wrong = await stored(at())
    const alone = await follower.repair(end, signal)
    assert.deepEqual([alone.parts, alone.epochs, alone.changed], [0, 0, 0])
    assert.deepEqual(await stored(at()), wrong)
    lacking.clear()
    assert.equal((await follower.repair(end, signal)).changed, 1)
    assert.deepEqual(await stored(at()), clean)
  })

  test('if a write fails within a part, the whole part is unchanged', async () => {
    const scene = at()
    const epochs = await falsify(scene, levels.shortSpans, 1)
    const wrong = await stored(scene)
    const failing = stateWith(scene.dutiesState, {
      write: (work, options) =>
        scene.dutiesState.write(
          (tx) =>
            work({
              ...tx,
              run: (sql, ...values) => {
                // This table is replaced last.
                if (sql.includes('unexplained_balance_changes')) throw new Error('the disk is full')
                return tx.run(sql, ...values)
              },
            }),
          options,
        ),
    })
    const context = await withFollower({ ...scene, duties: dutiesOnThisThread(failing) }, scene.url)
    await assert.rejects(context.follower.repair(epochs, signal), /the disk is full/)
    assert.deepEqual(await stored(scene), wrong)
    assert.equal((await scene.follower.repair(epochs, signal)).changed, 1)
    assert.deepEqual(await stored(scene), scene.clean)
  })

  test('the doctor reports a damaged row and the command that repairs it', async () => {
    const { follower, duties, dutiesState, clean } = at()
    for (const level of [levels.shortSpans, levels.hours, presenceLevel]) {
      const { from, until } = await damage(at(), level)
      const command = `tetrad repair --network hoodi --from-epoch ${from} --until-epoch ${Math.min(24, until)}`
      await assert.rejects(duties.query('countRows', undefined), (error: Error) => {
        return error.message.includes(`${level.table} has a damaged row`) && error.message.includes(command)
      })
      assert.equal((await follower.repair({ from, until: Math.min(24, until) }, signal)).failed, undefined)
      await duties.query('countRows', undefined)
    }
    assert((await rowsOf(dutiesState, levels.shortSpans)).length > 0)
    assert.deepEqual(await stored(at()), clean)
  })

  for (const [name, level] of Object.entries({
    ...{ hour: levels.hours, day: levels.days, 'missed duties': missedLevel, presence: presenceLevel },
  }))
    test(`repairing its day part replaces a damaged row (${name})`, async () => {
      const { follower, clean } = at()
      const epochs = await damage(at(), level, -1)
      const { failed } = await follower.repair({ from: epochs.from, until: Math.min(24, epochs.until) }, signal)
      assert.equal(failed, undefined)
      assert.deepEqual(await stored(at()), clean)
    })

  test('a damaged row of a span is repaired with the whole span, and stays damaged until its last part is read', async () => {
    const { follower, clean, dutiesState, lacking } = at()
    const bytes = await allBytes(dutiesState)
    const { from, until } = await damage(at(), levels.shortSpans, 1)
    const command = `tetrad repair --network hoodi --from-epoch ${from} --until-epoch ${until}`
    await assert.rejects(follower.repair({ from: from + 4, until }, signal), (error: Error) =>
      error.message.includes(command),
    )
    await assert.rejects(stored(at()), /damaged/)
    for (let slot = (until - 1) * 4; slot < until * 4; slot++) lacking.add(slot)
    const partly = await follower.repair({ from, until }, signal)
    assert(partly.failed && partly.parts > 3)
    await assert.rejects(stored(at()), /damaged/)
    // Ingest continues meanwhile.
    assert.equal((await follower.catchUp(signal)).written, 0)
    lacking.clear()
    const complete = await follower.repair({ from, until }, signal)
    assert.equal(complete.failed, undefined)
    assert.deepEqual(await stored(at()), clean)
    assert.deepEqual(await allBytes(dutiesState), bytes)
  })

  test('a new watch list does not delete the other validators', async () => {
    const { clean, url, settings: before } = at()
    const settings = { ...before, validators: structuredClone(before.validators) }
    Object.assign(settings.validators.networks.hoodi, { watch: ['2'] })
    const { follower } = await withFollower({ ...at(), settings }, url)
    const { parts, failed } = await follower.repair({ from: 0, until: 24 }, signal)
    assert.deepEqual([parts, failed?.fromEpoch], [0, 0])
    assert.deepEqual(await stored(at()), clean)
  })

  test('invalid ranges are rejected with advice', async () => {
    const { follower } = at()
    const rejects = (from: number, until: number, message: RegExp) =>
      assert.rejects(follower.repair({ from, until }, signal), message)
    await rejects(5, 5, /the range 5 to 5 is empty/)
    await rejects(20, 26, /stored up to 23; later ones are not final .*\. Pass --until-epoch 24/)
    await rejects(50, 60, /Read them first with `tetrad ingest beacon --network hoodi --once`/)
  })
})

/** All rows of all duty tables. */
const allBytes = async (state: State) =>
  Object.fromEntries(
    await Promise.all(
      [levels.hours, levels.days, levels.shortSpans, levels.longSpans, presenceLevel].map(
        async (level) => [level.table, await rowsOf(state, level)] as const,
      ),
    ),
  )

// Epochs that last a day: a long span has 64 of them.
const longWorld = { epochs: 70, slotSeconds: 21_600 }
onStore('long spans', { until: 66, world: longWorld, settings: { epochsPerDay: 1 } }, (at) => {
  test('a wrong figure in the row of a long span is corrected, and the row has the same bytes as before', async () => {
    const { follower, dutiesState, clean } = at()
    const bytes = await allBytes(dutiesState)
    for (const pick of [1, 77]) {
      const epochs = await falsify(at(), levels.longSpans, pick)
      const wrong = await allBytes(dutiesState)
      assert.notDeepEqual(wrong, bytes)
      assert.equal((await follower.repair(epochs, signal)).changed, 1)
      assert.deepEqual(await allBytes(dutiesState), bytes)
    }
    assert.deepEqual(await stored(at()), clean)
  })
})

describe('incomplete stores', () => {
  let node: SimulatedBeaconNode
  before(async () => {
    node = await openNodeOfRun(usualWorld, { finalized: () => 22 })
  })
  after(() => node[Symbol.asyncDispose]())

  /** From epoch 12 on. */
  const fewEpochs = (url: string) => ({ beacon: { urls: [url], fromEpoch: 12 } })

  test('hours and missed duties that retention deleted stay deleted', async () => {
    await using context = await contextOn(node.url, { hoursKeptDays: 2, missedKeptDays: 3 })
    await context.follower.catchUp(signal)
    const clean = await stored(context)
    const bytes = await allBytes(context.dutiesState)
    const kept = await hourEpochs(context.duties, 'hoodi')
    assert((kept[0]?.from ?? 0) > 15)
    const epochs = await falsify(context, levels.shortSpans, 1)
    assert(epochs.until < 15)
    assert.equal((await context.follower.repair({ from: 0, until: 21 }, signal)).changed, 1)
    assert.deepEqual(await stored(context), clean)
    assert.deepEqual(await allBytes(context.dutiesState), bytes)
  })

  test('in a day part with a gap, only stored epochs are replaced, and the gap is filled if it is requested', async () => {
    await using context = await contextOn(node.url, {
      epochsPerHour: 3,
      epochsPerDay: 6,
      beacon: { urls: [node.url], fromEpoch: 9 },
    })
    const { follower } = context
    await follower.catchUp(signal)
    await follower.fill({ from: 3, until: 5 }, signal)
    await follower.fill({ from: 7, until: 8 }, signal)
    const clean = await stored(context)
    const falsifyDays = async () => {
      for (const pick of [0, 1, 2]) await falsify(context, levels.days, pick)
      assert.notDeepEqual(await stored(context), clean)
    }
    await falsifyDays()
    for (const [from, until] of [
      [3, 5],
      [7, 8],
      [9, 21],
    ] as const)
      assert.equal((await follower.repair({ from, until }, signal)).filled, 0)
    assert.deepEqual(await stored(context), clean)
    await falsifyDays()
    const left: number[] = []
    const repaired = await follower.repair({ from: 0, until: 21 }, signal, (count) => left.push(count))
    const { filled, epochs, changed } = repaired
    assert.deepEqual([filled, epochs, changed], [3 + 2 + 1, 2 + 1 + 12, 3])
    assert.deepEqual(
      left,
      left.toSorted((a, b) => b - a),
    )
    assert.equal(left.at(-1), 0)
    assert.deepEqual(await coveredEpochs(context.duties, 'hoodi'), [{ from: 0, until: 21 }])
    assert.equal((await follower.repair({ from: 0, until: 21 }, signal)).changed, 0)
  })

  test('repairing an empty store is rejected', async () => {
    await using context = await contextOn(node.url)
    await assert.rejects(context.follower.repair({ from: 0, until: 2 }, signal), /no epoch of hoodi is stored yet/)
  })

  test('if a stored validator is no longer on the watch list, nothing is replaced', async () => {
    await using context = await contextOn(node.url, { ...fewEpochs(node.url), watch: ['2', '7'] })
    await context.follower.catchUp(signal)
    const clean = await stored(context)
    const epochs = await falsify(context, levels.shortSpans)
    const wrong = await stored(context)
    const follower = async (watch: string[]) => {
      const settings = { ...context.settings, validators: structuredClone(context.settings.validators) }
      Object.assign(settings.validators.networks.hoodi, { watch })
      return (await withFollower({ ...context, settings }, node.url)).follower
    }
    const shorter = await (await follower(['2'])).repair(epochs, signal)
    assert.match(
      shorter.failed?.reason ?? '',
      /not on the watch list: put them back on validators\.networks\.hoodi\.watch/,
    )
    assert.deepEqual(await stored(context), wrong)
    // Validators that were not on the list at that time are not added.
    for (const watch of [['2', '7', '9'], []]) {
      assert.equal((await (await follower(watch)).repair({ from: 12, until: 21 }, signal)).failed, undefined)
      assert.deepEqual(await stored(context), clean)
    }
  })

  test('a repair adds the execution rewards of a new execution node, and never removes known ones', async () => {
    const gwei = { priorityFee: 5, baselineMev: 0, external: 0 }
    const execution: ExecutionSource = { read: async (blocks) => new Map(blocks.map(({ slot }) => [slot, gwei])) }
    const few = fewEpochs(node.url)
    await using full = await withFollower(await openContext(settingsFor(node.url, few)), node.url, execution)
    await full.follower.catchUp(signal)
    const clean = await stored(full)
    await using context = await contextOn(node.url, few)
    await context.follower.catchUp(signal)
    assert.notDeepEqual(await stored(context), clean)
    const { follower } = await withFollower(context, node.url, execution)
    assert.equal((await follower.repair({ from: 12, until: 21 }, signal)).failed, undefined)
    assert.deepEqual(await stored(context), clean)
    const { parts, failed } = await context.follower.repair({ from: 12, until: 21 }, signal)
    assert.equal(parts, 0)
    assert.match(
      failed?.reason ?? '',
      /no configured node supplies them\. Set validators\.networks\.hoodi\.execution as it was/,
    )
    assert.deepEqual(await stored(context), clean)
  })
})

test('after a repair, a server with stores on threads returns the same responses as before the damage', async () => {
  await using node = await openOracleNode({ ssz: true, states: true, rewards: true })
  await using server = await openQuietServer({ settings: oracleSettings(node.url) })
  const until = await catchUp(server.context, node.url)
  const clean = await collectAnswers(server)
  const settings = await withChainTimes({ ...server.context, clock: systemClock })
  const dutiesState = await openDuties(server.dataDir, settings.store)
  try {
    const context = { ...server.context, settings, dutiesState } as unknown as TestContext
    for (const [pick, level] of [levels.days, levels.hours].entries()) await falsify(context, level, 5 + pick)
    const beacon = openBeacon({
      network: 'hoodi',
      urls: [node.url],
      timeoutMs: 10_000,
      clock: systemClock,
      backoffMs: 1,
    })
    assert.notDeepEqual(await collectAnswers(server), clean)
    const repaired = await new Follower(context, 'hoodi', beacon).repair({ from: 1, until }, signal)
    assert.deepEqual([repaired.failed, repaired.changed], [undefined, 2])
    assertSameAnswers(await collectAnswers(server), clean, 'after the repair')
  } finally {
    await dutiesState.close()
  }
})
