// `tetrad validators compare` compares validators with their network, and with the thresholds of programmes. It calls the
// running server, or opens the databases if none is running. It needs no key.
import type { Command } from 'commander'
import type { ReplyOf } from '#api/client/client.ts'
import { parseJson } from '#api/contract/json.ts'
import type { Network } from '#api/contract/wire/validators.ts'
import { comparedDaysMax } from '#api/contract/wire/validators-comparison.ts'
import { networkOption } from './beacon.ts'
import { queryOwner } from './data-owner.ts'
import { CommandFailure } from './failure.ts'
import { integerBetween } from './parse-integer.ts'
import { bold, note, print, printJson } from './print.ts'
import type { CommonOptions } from './settings.ts'
import { collectIndices, nameOptions } from './validators-income.ts'

interface CompareOptions extends CommonOptions {
  readonly network: Network
  readonly pool?: string
  readonly operator?: string
  readonly days: number
}

type Comparison = ReplyOf<'validators.comparison'> & { readonly coverage?: string }

export function addCompare(validators: Command): void {
  validators
    .command('compare')
    .description('Compare validators with their network, and with the thresholds of programmes.')
    .argument('[indices...]', 'indices of validators; without a selection, those of the watch list', collectIndices)
    .addOption(networkOption())
    .option('--pool <name>', 'all validators of a pool')
    .option('--operator <name>', 'all validators of a node operator')
    .option('--days <n>', 'the last chain days', integerBetween(1, comparedDaysMax), 28)
    .action((indices: readonly number[], _: unknown, command: Command) => compare(indices, command.optsWithGlobals()))
}

async function compare(indices: readonly number[], options: CompareOptions): Promise<void> {
  const { network, pool, operator, days } = options
  const named = { pool, nodeOperator: operator, ...(indices.length > 0 && { indices }) }
  const reply = await queryComparison(options, { network, days, ...named }).catch(nameOptions)
  if (!reply) throw new CommandFailure('record.not_found', `No such validators on ${network}.`)
  if (options.json) return printJson(reply)
  if (reply.startDay === null) return print(`No day of ${network} has a summary yet.`)
  const { uptime, attesterEffectiveness, validatorEffectiveness } = reply.network
  print(`${bold(network)}, days ${reply.startDay} to ${reply.endDay}, ${reply.days} of them complete`)
  const whole = [percentText(uptime), scoreText(attesterEffectiveness), scoreText(validatorEffectiveness)]
  print(`network      uptime ${whole[0]}, attester ${whole[1]}, validator ${whole[2]}`)
  for (const validator of reply.validators) print(validatorText(validator))
  if (reply.partialDays.length > 0) note(`Not complete, so not compared: days ${reply.partialDays.join(', ')}.`)
}

function validatorText(validator: Comparison['validators'][number]): string {
  const { validatorIndex, uptime, attesterEffectiveness, validatorEffectiveness, programmes } = validator
  const scores = [
    ['attester', attesterEffectiveness],
    ['validator', validatorEffectiveness],
  ] as const
  return [
    `${String(validatorIndex).padEnd(12)} uptime ${percentText(uptime.value)} (${pointsText(uptime.difference)})`,
    ...scores.map(
      ([name, { value, difference, percentile }]) =>
        `${name} ${scoreText(value)} (${pointsText(difference)}, percentile ${percentile?.toFixed(0) ?? 'unknown'})`,
    ),
    ...programmes.map(({ name, isBelow, margin }) =>
      isBelow === null ? `${name}: unknown` : `${name}: ${isBelow ? 'below' : 'ok'} (${pointsText(margin)})`,
    ),
  ].join(', ')
}

const percentText = (value: number | null): string => (value === null ? 'unknown' : `${(100 * value).toFixed(2)} %`)
const scoreText = (value: number | null): string => value?.toFixed(2) ?? 'unknown'
const pointsText = (value: number | null): string =>
  value === null ? 'unknown' : `${value < 0 ? '' : '+'}${value.toFixed(2)}`

/** Calls the running server, or opens the databases and uses the chain time that the node reported last. */
async function queryComparison(options: CommonOptions, given: object): Promise<Comparison | null> {
  const input = Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined))
  const text = await queryOwner<string | null>(options, {
    name: 'comparison',
    input,
    runInProcess: async (context) => {
      const [{ comparisonForOperator }, { withChainTimes }] = await Promise.all([
        import('#validators/extensions/comparison/comparison-for-operator.ts'),
        import('#validators/ingest/read/chain-identity.ts'),
      ])
      return comparisonForOperator({ ...context, settings: await withChainTimes(context) }, input)
    },
  })
  return text === null ? null : (parseJson(text) as Comparison)
}
