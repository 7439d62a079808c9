// Rows are read and added to with the hours and days that they were added up into, or not at all (decision 0187).
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Fault } from '#core/fault.ts'
import type { Log } from '#io/log.ts'
import { openDesk, settingsWith, type TestDesk } from '#test/desk.ts'
import { ask, perfect, register, writeEpochs } from '#test/validators-world.ts'
import { aggregateEffectiveness } from './aggregate-effectiveness.ts'
import { coveredEpochs } from './duties.ts'
import { effectiveness } from './effectiveness.ts'
import { explain } from './explain.ts'
import { find } from './find.ts'
import { withChainTimes } from './ingest/chain.ts'
import { networkHealth } from './ingest/health.ts'
import { metadata } from './metadata.ts'

const cut = (epochsPerHour: number, epochsPerDay: number) =>
  settingsWith({ validators: { networks: { hoodi: { epochsPerHour, epochsPerDay } } } })

const withCut = (desk: TestDesk, epochsPerHour: number, epochsPerDay: number): TestDesk => ({
  ...desk,
  settings: cut(epochsPerHour, epochsPerDay),
})

/** Validator 5 votes in every epoch. */
const write = (desk: TestDesk, from: number, until: number) =>
  writeEpochs(
    desk,
    'hoodi',
    { from, until },
    Array.from({ length: until - from }, (_, at) => ({ ...perfect, epoch: from + at, validator: 5 })),
  )

async function openRead() {
  const plain = await openDesk()
  const desk = withCut(plain, 2, 6)
  await register(desk, 'hoodi', [5])
  await write(desk, 0, 48)
  return desk
}

const one = { network: 'hoodi', validator_index_or_pubkey: '5' } as const
const many: { network: 'hoodi'; indices: number[]; size: number } = { network: 'hoodi', indices: [5], size: 100 }
const isRefused = (error: unknown) => error instanceof Fault && error.code === 'validators.windows_changed'

/** As a store was before its rows had this beside them. */
const forget = ({ facts }: TestDesk) => facts.write((tx) => tx.remove('duty_windows', { key: 'hoodi' }))
const kept = ({ facts }: TestDesk) => facts.query('select epochs_per_hour, epochs_per_day from duty_windows')

test('503: with other hours or days than the rows have, what is made of rows is refused, for that network alone', async () => {
  await using desk = await openRead()
  for (const [epochsPerHour, epochsPerDay] of [
    [2, 8],
    [3, 6],
    [4, 12],
  ] as const) {
    const changed = withCut(desk, epochsPerHour, epochsPerDay)
    await assert.rejects(ask(effectiveness, changed, one), isRefused)
    await assert.rejects(ask(effectiveness, changed, { ...one, granularity: 'hour' }), isRefused)
    await assert.rejects(ask(aggregateEffectiveness, changed, many), isRefused)
    await assert.rejects(ask(aggregateEffectiveness, changed, { ...many, filterType: 'hour', from: '0' }), isRefused)
    await assert.rejects(ask(explain, changed, one), isRefused)
    assert.equal((await ask(metadata, changed, one)).body.validatorIndex, 5)
    assert.equal((await ask(find, changed, { network: 'hoodi', index: 5 })).body.validators.length, 1)
    assert.equal((await ask(aggregateEffectiveness, changed, { ...many, network: 'mainnet' })).body.total, 0)
  }
  assert.equal((await ask(aggregateEffectiveness, desk, many)).body.total, 8)
})

test('nothing is added to rows with other windows, and the words say what to set back', async () => {
  await using desk = await openRead()
  const words = /hoodi\.epochsPerDay is 8, but what is stored was added up by 6: set it back, or start with a new/
  await assert.rejects(write(withCut(desk, 2, 8), 48, 50), words)
  assert.deepEqual(await coveredEpochs(desk.facts, 'hoodi'), [{ from: 0, until: 48 }])
  await write(desk, 48, 50)
})

test('a store from before gets to know it at the first start; before any row it may still be changed', async () => {
  await using desk = await openRead()
  await forget(desk)
  await withChainTimes(desk)
  assert.deepEqual(await kept(desk), [{ epochs_per_hour: 2, epochs_per_day: 6 }])
  await using empty = await openDesk()
  await withChainTimes(withCut(empty, 2, 6))
  assert.deepEqual(await kept(empty), [])
})

test('rows from before that contradict the settings are left alone: neither adopted, nor read, nor added to', async () => {
  await using desk = await openRead()
  await forget(desk)
  const told: string[] = []
  const log = { ...desk.log, error: (_: object, words: string) => void told.push(words) } as Log
  // Longer days than the rows have, shorter ones, other hours alone, and all of it twice as long.
  const others = [
    [2, 8],
    [2, 4],
    [3, 6],
    [1, 6],
    [4, 12],
    [1, 3],
  ] as const
  for (const [epochsPerHour, epochsPerDay] of others) {
    const changed = { ...withCut(desk, epochsPerHour, epochsPerDay), log }
    await withChainTimes(changed)
    assert.deepEqual([await kept(desk), told.splice(0)], [[], ['this network is neither read nor answered']])
    await assert.rejects(ask(aggregateEffectiveness, changed, many), isRefused)
    await assert.rejects(write(changed, 48, 50), /was not added up by epochsPerHour/)
    const { isFresh, trouble } = await networkHealth(changed, 'hoodi')
    assert.equal(isFresh, false)
    assert.match(trouble?.says ?? '', /set validators\.networks\.hoodi back to what it was/)
  }
  await withChainTimes({ ...desk, log })
  assert.deepEqual([(await kept(desk)).length, told], [1, []])
})

test('a network that has no node any more keeps the time of the chain it was read from', async () => {
  await using desk = await openRead()
  await desk.facts.write((tx) =>
    tx.append('beacon_chains', {
      network: ['hoodi'],
      genesis_unix: [1_700_000_000],
      genesis_root: ['0x00'],
      slot_seconds: [6],
      slots_per_epoch: [8],
    }),
  )
  const { genesisUnix, slotSeconds, slotsPerEpoch } = (await withChainTimes(desk)).validators.networks.hoodi
  assert.deepEqual([genesisUnix, slotSeconds, slotsPerEpoch], [1_700_000_000, 6, 8])
})
