// `tetrad validators explain` shows the duties behind a score. It calls the running server, or opens the databases if
// none is running. It needs no key.
import type { Command } from 'commander'
import type { ReplyOf } from '#api/client/client.ts'
import { parseJson } from '#api/contract/json.ts'
import type { Network } from '#api/contract/wire/validators.ts'
import { epochNumber, networkOption } from './beacon.ts'
import { queryOwner } from './data-owner.ts'
import { CommandFailure, describeFailure } from './failure.ts'
import { integerBetween } from './parse-integer.ts'
import { bold, note, print, printJson } from './print.ts'
import { withActivity } from './progress.ts'
import type { CommonOptions } from './settings.ts'

interface ExplainOptions extends CommonOptions {
  readonly network: Network
  readonly fromDay?: number
  readonly toDay?: number
  readonly fromDate?: string
  readonly toDate?: string
  readonly utc?: true
  readonly limit: number
  readonly offset: number
}

type Explained = ReplyOf<'validators.explain'> & { readonly coverage?: string }

export function addValidators(validators: Command): void {
  validators
    .command('explain')
    .description('Show the duties behind a score: which were missed, late or wrong, and why.')
    .argument('<validator>', 'index or public key')
    .addOption(networkOption())
    .option('--from-day <n>', 'first chain day', epochNumber)
    .option('--to-day <n>', 'last chain day', epochNumber)
    .option('--from-date <date>', 'first date, YYYY-MM-DD')
    .option('--to-date <date>', 'last date, YYYY-MM-DD')
    .option('--utc', 'UTC days instead of chain days')
    .option('--limit <n>', 'days to show, at most 100', integerBetween(1, 100), 10)
    .option('--offset <n>', 'days to skip', epochNumber, 0)
    .action((validator: string, _: unknown, command: Command) => explain(validator, command.optsWithGlobals()))
}

async function explain(validator: string, options: ExplainOptions): Promise<void> {
  const { network, fromDay, toDay, fromDate, toDate, utc, limit, offset } = options
  const bounds = { fromDay, toDay, fromDate, toDate, utc, limit, offset }
  const input = { network, validator_index_or_pubkey: validator, ...bounds }
  const read = () => queryExplain(options, input).catch(nameOptions)
  const reply = await withActivity('Reading missed duties', read, { quiet: options.json })
  if (!reply) throw new CommandFailure('record.not_found', `Validator ${validator} does not exist on ${network}.`)
  if (options.json) return printJson(reply)
  print(`${bold(`validator ${reply.validatorIndex}`)}, ${network}`)
  for (const day of reply.results) print(dayText(day))
  if (reply.results.length === 0) print('No duties in these days.')
  if (reply.coverage !== 'complete') note(`Missed duties are known only for these epochs: ${reply.coverage ?? 'none'}.`)
  if (reply.next) note(`For more days, add --offset ${offset + limit}.`)
}

/** Replaces the field names of the endpoint. A running server reports only the text of an error. */
function nameOptions(error: unknown): never {
  const { code, message } = describeFailure(error)
  const named = message
    .replaceAll('query.', '')
    .replace('validator_index_or_pubkey', 'The validator')
    .replaceAll('a valid date', 'a date, YYYY-MM-DD')
    .replaceAll(/\b(from|to)(Day|Date)\b/g, (_, bound: string, unit: string) => `--${bound}-${unit.toLowerCase()}`)
  throw new CommandFailure(code, named)
}

export function dayText(day: Explained['results'][number]): string {
  const votes = `${day.totalUniqueAttestations} of ${day.totalAttestationAssignments} votes`
  const counted = [
    [day.sumMissedAttestations, 'missed'],
    [day.sumWrongTargetVotes, 'with a wrong target'],
    [day.sumWrongHeadVotes, 'with a wrong head'],
    [day.slashesReceived, 'slashings'],
  ] as const
  const problems = counted.filter(([count]) => Number(count) > 0).map(([count, what]) => `${count} ${what}`)
  const blocks = day.proposerDutiesCount ? [`${day.proposedCount} of ${day.proposerDutiesCount} blocks`] : []
  const score = day.validatorEffectiveness === null ? 'no score' : day.validatorEffectiveness.toFixed(2)
  return [
    `\n${bold(`day ${day.day}`)}  ${day.date}  ${score}  ${[votes, ...problems, ...blocks].join(', ')}`,
    ...day.epochs.map(
      ({ epoch, final, messages }) => `  epoch ${epoch}${final ? '' : ' (not final)'}: ${messages.join('; ')}`,
    ),
    ...(day.proposals ?? []).map((proposal) => `  ${proposalText(proposal)}`),
    ...(day.epochsKnown ? [] : ['  missed duties are not known for all epochs of this day']),
  ].join('\n')
}

type Proposal = NonNullable<Explained['results'][number]['proposals']>[number]

const payloadTexts = { full: 'part of the chain', empty: 'not part of the chain', unknown: 'not decided yet' } as const

function proposalText({ slot, payload, builder, valueGwei, paid }: Proposal): string {
  const payment = paid === null ? '' : `, ${valueGwei} gwei ${paid ? 'paid' : 'not paid'}`
  const built = builder === null ? 'built by itself' : `of builder ${builder}${payment}`
  return `block in slot ${slot}: payload ${built}, ${payloadTexts[payload]}`
}

/** Calls the running server, or opens the databases and uses the chain time that the node reported last. */
async function queryExplain(options: CommonOptions, given: object): Promise<Explained | null> {
  const input = Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined))
  const text = await queryOwner<string | null>(options, {
    name: 'explain',
    input,
    runInProcess: async (context) => {
      const [{ explainForOperator }, { withChainTimes }] = await Promise.all([
        import('#validators/extensions/explain/explain-for-operator.ts'),
        import('#validators/ingest/read/chain-identity.ts'),
      ])
      return explainForOperator({ ...context, settings: await withChainTimes(context) }, input)
    },
  })
  return text === null ? null : (parseJson(text) as Explained)
}
