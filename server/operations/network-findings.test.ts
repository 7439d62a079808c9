import assert from 'node:assert/strict'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { openContext, settingsWith } from '#test/context.ts'
import { perfect, register, writeEpochs } from '#test/validators-world.ts'
import { registerRun } from '#validators/ingest/status/ingest-status.ts'
import { storeDiagnoses } from './doctor.ts'
import { networkFindings, stateFindings } from './network-findings.ts'

const network = { epochsPerHour: 2, epochsPerDay: 6 }
const settingsOf = (changes: object) =>
  settingsWith({ validators: { networks: { hoodi: { ...network, ...changes } } } })

test('settings that do not match the stored rows of a network fail, with the values of the rows', async () => {
  await using context = await openContext({ validators: { networks: { hoodi: network } } })
  await writeEpochs(context, 'hoodi', { from: 0, until: 12 }, [{ ...perfect, epoch: 3, validator: 5 }])
  assert.deepEqual(await networkFindings(context), [])
  const [found, ...more] = await networkFindings({ ...context, settings: settingsOf({ epochsPerDay: 8 }) })
  assert.deepEqual([found?.name, found?.level, more], ['network hoodi', 'fail', []])
  assert.match(found?.message ?? '', /epochsPerDay is 8, but stored figures were added up by 6/)
  const off = {
    ...settingsOf({ epochsPerDay: 8 }),
    groups: settingsWith({ groups: { validators: { enabled: false } } }).groups,
  }
  assert.deepEqual(await networkFindings({ ...context, settings: off }), [])
})

test('a node that cannot be read for a while fails; unknown watched validators are a warning', async () => {
  await using context = await openContext()
  await register(context, 'hoodi', [12])
  const settings = settingsOf({ watch: ['12', '34'], beacon: { urls: ['http://beacon.test'] } })
  const configured = { ...context, settings }
  assert.deepEqual(await networkFindings(configured), [], 'nothing has been read yet')
  await writeEpochs(configured, 'hoodi', { from: 0, until: 12 }, [])
  const run = registerRun(context, 'hoodi')
  run.end('connection refused', context.clock.monotonicMs())
  context.clock.advance(600_000)
  const found = (await storeDiagnoses(configured, 0)).filter(({ name }) => name === 'network hoodi')
  assert.deepEqual(
    found.map(({ level, message }) => [level, message]),
    [
      ['fail', found[0]?.message],
      ['fail', 'its beacon node has been unreadable for 10 min'],
      ['warn', 'no validator matches these watch list entries: 34'],
    ],
  )
  assert.match(found[0]?.message ?? '', /^stale: no data arrives/)
  assert.match(found[2]?.todo ?? '', /validators\.networks\.hoodi\.watch/)
})

test('a watch file that is not valid fails, with its line', async () => {
  await using context = await openContext()
  const watchFile = join(context.dir, 'watch.txt')
  await writeFile(watchFile, '12\n\ntwelve\n')
  const [found] = await networkFindings({ ...context, settings: settingsOf({ watchFile }) })
  assert.deepEqual([found?.name, found?.level], ['network hoodi', 'fail'])
  assert.match(found?.message ?? '', /^the watch file is not valid: .*watch\.txt, line 3: "twelve"/)
})

test('a large network without the native library fails; the first state of a single node is reported', async () => {
  await using context = await openContext()
  const urls = ['http://beacon.test']
  const findingsOf = async (changes: object, isInstalled: boolean) =>
    (
      await stateFindings(
        { ...context, settings: settingsOf({ states: 'computed', ...changes }) },
        'hoodi',
        isInstalled,
      )
    ).map(({ level, todo }) => [level, todo])
  await register(context, 'hoodi', [12])
  assert.deepEqual(await findingsOf({ beacon: { urls } }, false), [['ok', undefined]])
  await register(context, 'hoodi', [19_999])
  const [missing] = await findingsOf({ beacon: { urls } }, false)
  assert.match(`${missing}`, /^fail,install @chainsafe\/lodestar-z, or set .*hoodi\.engine: typescript \(about 2330 MB/)
  assert.deepEqual(await findingsOf({ beacon: { urls } }, true), [['ok', undefined]])
  const unsigned = { beacon: { urls: [...urls, 'http://other.test'] }, verifySignatures: false }
  assert.deepEqual(await findingsOf(unsigned, true), [
    ['warn', 'when it has caught up, set validators.networks.hoodi.verifySignatures: true'],
  ])
  const checkpointRoot = `0x${'11'.repeat(32)}`
  assert.deepEqual(await findingsOf({ beacon: { urls }, engine: 'typescript', checkpointRoot }, false), [])
  assert.deepEqual(await findingsOf({ beacon: { urls: [...urls, 'http://other.test'] } }, true), [])
  assert.deepEqual(await findingsOf({ beacon: { urls }, states: 'node' }, false), [])
})
