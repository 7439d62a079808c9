import assert from 'node:assert/strict'
import { test } from 'node:test'
import { openContext, settingsWith } from '#test/context.ts'
import { perfect, register, writeEpochs } from '#test/validators-world.ts'
import { registerRun } from '#validators/ingest/ingest-status.ts'
import { storeDiagnoses } from './doctor.ts'
import { networkFindings } from './network-findings.ts'

const network = { epochsPerHour: 2, epochsPerDay: 6 }
const settingsOf = (changes: object) =>
  settingsWith({ validators: { networks: { hoodi: { ...network, ...changes } } } })

test('settings that the rows of a network were not made with are bad, and it is said what they were', async () => {
  await using context = await openContext({ validators: { networks: { hoodi: network } } })
  await writeEpochs(context, 'hoodi', { from: 0, until: 12 }, [{ ...perfect, epoch: 3, validator: 5 }])
  assert.deepEqual(await networkFindings(context), [])
  const [found, ...more] = await networkFindings({ ...context, settings: settingsOf({ epochsPerDay: 8 }) })
  assert.deepEqual([found?.name, found?.level, more], ['network hoodi', 'bad', []])
  assert.match(found?.message ?? '', /epochsPerDay is 8, but what is stored was added up by 6/)
  const off = {
    ...settingsOf({ epochsPerDay: 8 }),
    groups: settingsWith({ groups: { validators: { on: false } } }).groups,
  }
  assert.deepEqual(await networkFindings({ ...context, settings: off }), [])
})

test('a node that has not been readable for a while is bad; watched validators that nobody knows are worth a look', async () => {
  await using context = await openContext()
  await register(context, 'hoodi', [12])
  const settings = settingsOf({ watch: ['12', '34'], beacon: { urls: ['http://beacon.test'] } })
  const own = { ...context, settings }
  assert.deepEqual(await networkFindings(own), [], 'nothing has been read yet')
  await writeEpochs(own, 'hoodi', { from: 0, until: 12 }, [])
  const run = registerRun(context, 'hoodi')
  run.end('connection refused', context.clock.now())
  context.clock.advance(600_000)
  const found = (await storeDiagnoses(own, 0)).filter(({ name }) => name === 'network hoodi')
  assert.deepEqual(
    found.map(({ level, message }) => [level, message]),
    [
      ['bad', found[0]?.message],
      ['bad', 'its beacon node has not been readable for 10 min'],
      ['warn', 'its watch list names nobody by 34'],
    ],
  )
  assert.match(found[0]?.message ?? '', /^is stale, and nothing comes/)
  assert.match(found[2]?.todo ?? '', /validators\.networks\.hoodi\.watch/)
})
