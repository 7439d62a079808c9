import assert from 'node:assert/strict'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { complete, fillDefaults } from '#core/schema-check.ts'
import { systemClock } from '#runtime/clock.ts'
import { silentLog } from '#runtime/log.ts'
import { SettingsSchema } from '#runtime/settings.ts'
import { startServer } from '#server/app.ts'
import type { Duties } from '#storage/duties.ts'
import { createKey } from '#storage/keys.ts'
import type { State } from '#storage/state.ts'
import { stateWith } from '#test/authorization.ts'
import { openContext, settingsWith, type TestContext } from '#test/context.ts'
import { openDemoNodes } from '#test/demo-nodes.ts'
import { onlyInLongRun } from '#test/long.ts'
import { type Demo, startDemo } from './demo.ts'
import { contentsOf } from './demo-mark.ts'
import { startStandaloneSimulator } from './standalone.ts'

test('a folder with keys only is empty; one with incomplete demo data is a demo', async () => {
  // Only the first epochs are read. Shared nodes do not simulate all others before.
  await withInterruptedLoad(await startDemo(openDemoNodes()), async (context) =>
    assert.equal(await contentsOf(context), 'demo'),
  )
})

test('the next start completes an interrupted load', { skip: onlyInLongRun }, async () => {
  const demo = await startDemo()
  await withInterruptedLoad(demo, async (context) => {
    const samples = await demo.load({ ...context, clock: systemClock })
    assert.equal(samples.indices.length, 5)
    assert.deepEqual(await demo.load({ ...context, clock: systemClock }), samples)
  })
})

test('a server has the times of the chain that was stored while it prepared', async () => {
  await using cleanup = new AsyncDisposableStack()
  const dataDir = await mkdtemp(join(tmpdir(), 'tetrad-prepare-'))
  cleanup.defer(() => rm(dataDir, { recursive: true }))
  const chain = { genesisUnix: 1_700_000_000, genesisRoot: `0x${'22'.repeat(32)}`, slotSeconds: 5400, slotsPerEpoch: 4 }
  const server = await startServer({
    settings: settingsWith({ server: { port: 0 }, ingest: { enabled: false } }),
    dataDir,
    log: silentLog,
    beforeStart: async ({ duties }) => void (await duties.update('writeChain', { network: 'mainnet', chain })),
  })
  cleanup.defer(() => server.close())
  const { genesisUnix, slotSeconds, slotsPerEpoch } = server.context.settings.validators.networks.mainnet
  assert.deepEqual({ ...chain, genesisUnix, slotSeconds, slotsPerEpoch }, chain)
})

test('the settings of the simulator are valid, and defaults are filled in without checking them', async () => {
  await using simulator = await startStandaloneSimulator()
  const { value, problems } = complete(SettingsSchema, simulator.settings)
  assert.deepEqual(problems, [])
  assert.deepEqual(fillDefaults(SettingsSchema, simulator.settings), value)
})

/** Closes the demo. */
async function withInterruptedLoad(demo: Demo, work: (context: TestContext) => Promise<void>): Promise<void> {
  await using context = await openContext()
  await createKey(context.state, { name: 'early', plan: 'free' }, context.clock, context.random)
  assert.equal(await contentsOf(context), 'nothing')
  try {
    const allowOnly = (count: number) => {
      let writes = 0
      return <T>(write: () => Promise<T>): Promise<T> =>
        writes++ < count ? write() : Promise.reject(new Error('interrupted'))
    }
    // The chains of the two networks are written, the mark of the start, and the labels of one chain.
    const [updates, writes] = [allowOnly(2), allowOnly(2)]
    const duties: Duties = { ...context.duties, update: (...args) => updates(() => context.duties.update(...args)) }
    const limited = (store: State) => stateWith(store, { write: (...args) => writes(() => store.write(...args)) })
    const [state, ingest] = [limited(context.state), limited(context.ingest)]
    await assert.rejects(demo.load({ ...context, clock: systemClock, duties, state, ingest }), /interrupted/)
    await work(context)
  } finally {
    await demo.close()
  }
}
