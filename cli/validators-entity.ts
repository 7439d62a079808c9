// `tetrad validators entity` shows the pool, the operators and the DVT network of a validator, since when, and which rule
// names them. It reads the database, also next to a running server.
import type { Command } from 'commander'
import type { Network } from '#api/contract/wire/validators.ts'
import type { EntityPeriod, ExplainedEntity, ExplainedRule } from '#shared/console-calls.ts'
import { describeEvidence } from '#shared/describe-evidence.ts'
import { networkOption } from './beacon.ts'
import { withIngest } from './data.ts'
import { CommandFailure } from './failure.ts'
import { bold, print, printJson } from './print.ts'
import type { CommonOptions } from './settings.ts'

interface EntityOptions extends CommonOptions {
  readonly network: Network
}

export function addEntity(validators: Command): void {
  validators
    .command('entity')
    .description('Show the pool and the operators of a validator, since when, and which rule names them.')
    .argument('<validator>', 'index or public key')
    .addOption(networkOption())
    .action((validator: string, _: unknown, command: Command) => showEntity(validator, command.optsWithGlobals()))
}

async function showEntity(validator: string, options: EntityOptions): Promise<void> {
  const { network } = options
  if (!/^(\d{1,12}|(0x)?[0-9a-fA-F]{96})$/.test(validator))
    throw new CommandFailure('input.invalid', `${validator} is neither an index nor a public key.`)
  const { explainEntity } = await import('#validators/entities/explain-entity.ts')
  const entity = await withIngest(options, 'found', (ingest) => explainEntity(ingest, network, validator))
  if (!entity) throw new CommandFailure('record.not_found', `Validator ${validator} does not exist on ${network}.`)
  if (options.json) return printJson(entity)
  print(`${bold(`validator ${entity.validatorIndex}`)}, ${network}`)
  for (const line of entityLines(entity)) print(line)
}

const fieldTitles = { pool: 'Pool', operators: 'Node operators', dvt: 'DVT' } as const

function entityLines({ periods, rules, currentDay }: ExplainedEntity): string[] {
  const lines = (Object.keys(fieldTitles) as (keyof typeof fieldTitles)[]).flatMap((field) => {
    const [newest, ...others] = periods[field]
    const isPresent = newest?.untilDay === null
    const past = (isPresent ? others : periods[field]).map((period) => `  before: ${periodText(period)}`)
    return [`${fieldTitles[field]}: ${isPresent ? periodText(newest) : 'unknown'}`, ...past]
  })
  const day = currentDay === null ? [] : [`The present chain day is ${currentDay}.`]
  if (rules.length === 0) return [...lines, ...day, 'No rule selects this validator.']
  return [...lines, ...day, 'Rules that select it, by precedence:', ...rules.map((rule) => `  ${ruleText(rule)}`)]
}

function periodText(period: EntityPeriod): string {
  const { name, subpool, operators, fromDay, untilDay } = period
  const value = [name, subpool].filter((text) => text !== null).join(', ')
  const names = [value, operators.join(', ')].filter((text) => text !== '').join(': ')
  const days = untilDay === null ? `since day ${fromDay}` : `day ${fromDay} to ${untilDay - 1}`
  return `${names}, ${days}, ${describeEvidence(period)}`
}

function ruleText({ kind, source, selector, value, names, fromDay, untilDay, ...named }: ExplainedRule): string {
  const { pool, subpool, nodeOperators, dvtNetwork, dvtOperators } = named
  const given = Object.entries({ pool, subpool, nodeOperators, dvtNetwork, dvtOperators }).flatMap(([name, text]) =>
    text === null ? [] : [`${name} ${Array.isArray(text) ? text.join('; ') || 'none' : text}`],
  )
  const days = fromDay === null ? '' : `, from day ${fromDay}${untilDay === null ? '' : ` until ${untilDay}`}`
  const wins =
    names.length > 0 ? `, decides ${names.map((field) => fieldTitles[field].toLowerCase()).join(' and ')}` : ''
  return `${kind} of ${source}: ${selector} ${value}: ${given.join(', ') || 'nothing'}${days}${wins}`
}
