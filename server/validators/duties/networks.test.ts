// Stored figures are only used with the hours and days they were added up by
// (behaviour/validators.md#changed-hours-and-days).
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { test } from 'node:test'
import { Fault } from '#core/fault.ts'
import { systemClock } from '#runtime/clock.ts'
import type { Log } from '#runtime/log.ts'
import { openContext, settingsWith, type TestContext } from '#test/context.ts'
import { callHandler, perfect, register, writeEpochs } from '#test/validators-world.ts'
import { aggregateEffectiveness } from '../endpoints/aggregate-effectiveness.ts'
import { effectiveness } from '../endpoints/effectiveness.ts'
import { metadata } from '../endpoints/metadata.ts'
import { explain } from '../extensions/explain/explain.ts'
import { find } from '../extensions/lists/find.ts'
import { withChainTimes } from '../ingest/read/chain-identity.ts'
import { readNetworkHealth } from '../ingest/status/health.ts'
import { coveredEpochs } from './coverage.ts'

const windows = (epochsPerHour: number, epochsPerDay: number) =>
  settingsWith({ validators: { networks: { hoodi: { epochsPerHour, epochsPerDay } } } })

const withWindows = (context: TestContext, epochsPerHour: number, epochsPerDay: number): TestContext => ({
  ...context,
  settings: windows(epochsPerHour, epochsPerDay),
})

/** Validator 5 votes in every epoch. */
const write = (context: TestContext, from: number, until: number) =>
  writeEpochs(
    context,
    'hoodi',
    { from, until },
    Array.from({ length: until - from }, (_, at) => ({ ...perfect, epoch: from + at, validator: 5 })),
  )

async function openRead() {
  const plain = await openContext()
  const context = withWindows(plain, 2, 6)
  await register(context, 'hoodi', [5])
  await write(context, 0, 48)
  return context
}

const one = { network: 'hoodi', validator_index_or_pubkey: '5' } as const
const many: { network: 'hoodi'; indices: number[]; size: number } = { network: 'hoodi', indices: [5], size: 100 }
const isRefused = (error: unknown) => error instanceof Fault && error.code === 'validators.windows_changed'

test('503: if hours or days differ from the stored ones, figures of that network are refused', async () => {
  await using context = await openRead()
  for (const [epochsPerHour, epochsPerDay] of [
    [2, 8],
    [3, 6],
    [4, 12],
  ] as const) {
    const changed = withWindows(context, epochsPerHour, epochsPerDay)
    await assert.rejects(callHandler(effectiveness, changed, one), isRefused)
    await assert.rejects(callHandler(effectiveness, changed, { ...one, granularity: 'hour' }), isRefused)
    await assert.rejects(callHandler(aggregateEffectiveness, changed, many), isRefused)
    await assert.rejects(
      callHandler(aggregateEffectiveness, changed, { ...many, filterType: 'hour', from: '0' }),
      isRefused,
    )
    await assert.rejects(callHandler(explain, changed, one), isRefused)
    assert.equal((await callHandler(metadata, changed, one)).body.validatorIndex, 5)
    assert.equal((await callHandler(find, changed, { network: 'hoodi', index: 5 })).body.validators.length, 1)
    // Other networks are not affected.
    const notRead = { code: 'validators.not_read' }
    await assert.rejects(callHandler(aggregateEffectiveness, changed, { ...many, network: 'mainnet' }), notRead)
  }
  assert.equal((await callHandler(aggregateEffectiveness, context, many)).body.total, 8)
})

test('with other hours or days nothing is written, and the error names the setting to change back', async () => {
  await using context = await openRead()
  const reason =
    /hoodi\.epochsPerDay is 8, but stored figures were added up by 6: set it back, or delete what is stored: tetrad validators forget --network hoodi$/
  await assert.rejects(write(withWindows(context, 2, 8), 48, 50), reason)
  assert.deepEqual(await coveredEpochs(context.duties, 'hoodi'), [{ from: 0, until: 48 }])
  await write(context, 48, 50)
})

test('hours and days may change until something is stored', async () => {
  await using empty = await openContext()
  await withChainTimes(withWindows(empty, 2, 6))
  assert.deepEqual(await empty.duties.all('select * from duty_networks'), [])
  await write(withWindows(empty, 2, 8), 0, 4)
  assert.deepEqual(await empty.duties.all('select epochs_per_hour, epochs_per_day from duty_networks'), [
    { epochs_per_hour: 2, epochs_per_day: 8 },
  ])
})

test('a network whose hours or days differ from the stored ones is not healthy, and the log has the reason', async () => {
  await using context = await openRead()
  const errors: object[] = []
  const log = { ...context.log, error: (fields: object) => void errors.push(fields) } as unknown as Log
  const reason = /hoodi\.epochsPerHour is 3, but stored figures were added up by 2: set it back/
  const changed = { ...withWindows(context, 3, 6), log }
  await withChainTimes(changed)
  assert.equal(errors.length, 1)
  assert.match(JSON.stringify(errors[0]), reason)
  const { isFresh, problem } = await readNetworkHealth(changed, 'hoodi')
  assert.equal(isFresh, false)
  assert.match(problem?.message ?? '', reason)
  await withChainTimes({ ...context, log })
  assert.equal(errors.length, 1)
})

test('without a node, a network uses the chain time it was read with', async () => {
  await using context = await openRead()
  const chain = { genesisUnix: 1_700_000_000, genesisRoot: '0x00', slotSeconds: 6, slotsPerEpoch: 8 }
  await context.duties.update('writeChain', { network: 'hoodi', chain })
  const { genesisUnix, slotSeconds, slotsPerEpoch } = (await withChainTimes(context)).validators.networks.hoodi
  assert.deepEqual([genesisUnix, slotSeconds, slotsPerEpoch], [1_700_000_000, 6, 8])
})

test('the nodes of several networks are asked at the same time', async () => {
  const waiting: ServerResponse[] = []
  let wasAborted = false
  // Responds when both networks have asked.
  const server = createServer((_, response) => {
    response.once('close', () => {
      wasAborted ||= !response.writableFinished
    })
    waiting.push(response)
    if (waiting.length < 2) return
    for (const open of waiting) if (!open.writableEnded) open.writeHead(404).end('{}')
  })
  await once(server.listen(0, '127.0.0.1'), 'listening')
  try {
    const urls = [`http://127.0.0.1:${(server.address() as AddressInfo).port}`]
    await using context = await openContext({
      validators: { networks: { mainnet: { beacon: { urls } }, hoodi: { beacon: { urls } } } },
    })
    await withChainTimes({ ...context, clock: systemClock })
    assert.equal(wasAborted, false)
  } finally {
    server.closeAllConnections()
    server.close()
  }
})
