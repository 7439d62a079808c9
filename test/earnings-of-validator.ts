// Epochs of one validator with known earnings, which show from which database a rating was read.
import { aggregateEffectiveness } from '#validators/endpoints/aggregate-effectiveness.ts'
import type { TestContext } from './context.ts'
import { callHandler, perfect, writeEpochs } from './validators-world.ts'

export const network = 'hoodi'
export const validator = 5
/** Hours of two epochs, days of four. */
export const shortDays = { networks: { [network]: { epochsPerHour: 2, epochsPerDay: 4 } } }

/** Writes epochs of the validator, each with these earnings. */
export const writeEarnings = (context: TestContext, from: number, until: number, earnings: number) =>
  writeEpochs(
    context,
    network,
    { from, until },
    Array.from({ length: until - from }, (_, at) => ({ ...perfect, epoch: from + at, validator, earnings })),
  )

/** The sum of all earnings and the last epoch, as 4.5 returns them. */
export async function readEarnings(context: TestContext): Promise<[earnings: unknown, asOf: unknown]> {
  const { body, confidence } = await callHandler(aggregateEffectiveness, context, {
    network,
    indices: [validator],
    granularity: 'all',
    include: ['earnings'],
    groupBy: 'timeWindow',
  })
  return [body.data[0]?.earnings, confidence?.asOf]
}
