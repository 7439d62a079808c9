// The extension endpoint validators.effectivenessV0, compared with 4.5.
import { strict as assert } from 'node:assert'
import { after, before, describe, test } from 'node:test'
import type { Input } from '#api/contract/kit.ts'
import { Fault } from '#core/fault.ts'
import { openContext, type TestContext, testRequestInfo } from '#test/context.ts'
import { callHandler, inputOfLink, perfect, pubkeyOf, register, writeEpochs } from '#test/validators-world.ts'
import { aggregateEffectiveness } from '../../endpoints/aggregate-effectiveness.ts'
import { effectivenessV0 } from './effectiveness-v0.ts'

const rows = Array.from({ length: 60 }, (_, epoch) =>
  [1, 2].map((validator) => ({ epoch, validator, ...perfect, earnings: 100 * validator + epoch })),
).flat()

let context: TestContext
before(async () => {
  context = await openContext({ validators: { networks: { mainnet: { epochsPerHour: 1, epochsPerDay: 3 } } } })
  await register(context, 'mainnet', [1, 2])
  await writeEpochs(context, 'mainnet', { from: 0, until: 60 }, rows)
})
after(() => context[Symbol.asyncDispose]())

type Given = Input<typeof effectivenessV0.endpoint>
const page = async (given: Given) => (await callHandler(effectivenessV0, context, given)).body

describe('200', () => {
  test('200: the records are those of 4.5 about this validator, by index and by key', async () => {
    const inputs: Omit<Given, 'validator_index_or_pubkey'>[] = [
      { size: 1000 },
      { from: '12', to: '3' },
      { granularity: 'all' },
      { include: ['uptime'] },
    ]
    for (const given of inputs) {
      const { data, total } = (await callHandler(aggregateEffectiveness, context, { ...given, indices: [2] })).body
      assert.ok(data.length > 0 && data.every(({ validatorIndex }) => validatorIndex === 2))
      for (const name of ['2', pubkeyOf(2)]) {
        const single = await page({ ...given, validator_index_or_pubkey: name })
        assert.deepEqual([single.data, single.total], [data, total])
      }
    }
  })

  test('200: the links lead through every record once, and the total counts from the start of the page', async () => {
    const whole = await page({ validator_index_or_pubkey: '1', size: 1000, to: '4' })
    const walked: unknown[] = []
    let input: Given | undefined = { validator_index_or_pubkey: '1', size: 3, to: '4' }
    while (input) {
      const { data, next, total }: Awaited<ReturnType<typeof page>> = await page(input)
      assert.equal(total, whole.total - walked.length)
      walked.push(...data)
      assert.match(next ?? '/v0/eth/validators/1/effectiveness?', /^\/v0\/eth\/validators\/1\/effectiveness\?/)
      input =
        next === null ? undefined : { ...inputOfLink(effectivenessV0.endpoint, next), validator_index_or_pubkey: '1' }
    }
    assert.deepEqual(walked, whole.data)
    assert.equal(walked.length, 16)
  })
})

describe('failures', () => {
  const defaults = { filterType: 'day', size: 10 } as const
  test('404: a validator that does not exist', async () => {
    const input = { network: 'mainnet', validator_index_or_pubkey: '3', ...defaults } as const
    assert.equal((await effectivenessV0.handle(input, context, testRequestInfo())).is, 'nothing')
  })

  test('a network that is not read is not covered, rather than without this validator', async () => {
    const input = { network: 'hoodi', validator_index_or_pubkey: '3', ...defaults } as const
    await assert.rejects(effectivenessV0.handle(input, context, testRequestInfo()), (error) => {
      assert.ok(error instanceof Fault)
      assert.match(error.code, /^validators\.not_/)
      return true
    })
  })
})
