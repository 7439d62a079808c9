// `tetrad validators explain` shows the duties behind a score, `tetrad validators find` lists validators and pools.
// Both call the running server, or open the databases if none is running. They need no key.
import type { Command } from 'commander'
import type { ReplyOf } from '#api/client.ts'
import { parseJson } from '#api/json.ts'
import type { Network } from '#api/wire/validators.ts'
import { epochNumber, networkOption } from './beacon.ts'
import { queryOwner } from './data-owner.ts'
import { CommandFailure } from './failure.ts'
import { bold, note, print, printJson, table } from './print.ts'
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

interface FindOptions extends CommonOptions {
  readonly network: Network
  readonly index?: number
  readonly key?: string
  readonly pool?: string
  readonly operator?: string
  readonly deposit?: string
  readonly withdrawal?: string
  readonly limit: number
  readonly after?: number
}

type Explained = ReplyOf<'validators.explain'> & { readonly coverage?: string }
type FindReply = ReplyOf<'validators.find'>

export function addValidators(validators: Command): void {
  validators
    .command('explain')
    .description('Show the duties behind a score: which were missed, late or wrong, and why.')
    .argument('<validator>', 'index or public key')
    .addOption(networkOption())
    .option('--from-day <n>', 'first chain day', epochNumber)
    .option('--to-day <n>', 'last chain day', epochNumber)
    .option('--from-date <date>', 'first date, YYYY-MM-DD')
    .option('--to-date <date>', 'last date')
    .option('--utc', 'UTC days instead of chain days')
    .option('--limit <n>', 'days to show, at most 100', epochNumber, 10)
    .option('--offset <n>', 'days to skip', epochNumber, 0)
    .action((validator: string, _: unknown, command: Command) => explain(validator, command.optsWithGlobals()))
  validators
    .command('find')
    .description('Find validators by one of the options. Without an option, list the pools.')
    .addOption(networkOption())
    .option('--index <n>', 'validator index', epochNumber)
    .option('--key <hex>', 'public key, or at least its first 6 digits')
    .option('--pool <name>', 'name of the pool')
    .option('--operator <name>', 'name of a node operator')
    .option('--deposit <address>', 'address that paid a deposit')
    .option('--withdrawal <address>', 'withdrawal address')
    .option('--limit <n>', 'validators to show, at most 1000', epochNumber, 100)
    .option('--after <index>', 'start after this validator', epochNumber)
    .action((_: unknown, command: Command) => find(command.optsWithGlobals()))
}

async function explain(validator: string, options: ExplainOptions): Promise<void> {
  const { network, fromDay, toDay, fromDate, toDate, utc, limit, offset } = options
  const bounds = { fromDay, toDay, fromDate, toDate, utc, limit, offset }
  const reply = await queryServerOrStores<Explained>(options, 'explain', {
    network,
    validator_index_or_pubkey: validator,
    ...bounds,
  })
  if (!reply) throw new CommandFailure('record.not_found', `Validator ${validator} does not exist on ${network}.`)
  if (options.json) return printJson(reply)
  print(`${bold(`validator ${reply.validatorIndex}`)}, ${network}`)
  for (const day of reply.results) print(dayText(day))
  if (reply.results.length === 0) print('No duties in these days.')
  if (reply.coverage !== 'complete') note(`Missed duties are known only for these epochs: ${reply.coverage ?? 'none'}.`)
  if (reply.next) note(`For more days, add --offset ${offset + limit}.`)
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
    ...(day.epochsKnown ? [] : ['  missed duties are not known for all epochs of this day']),
  ].join('\n')
}

async function find(options: FindOptions): Promise<void> {
  const { network, index, key, pool, operator, deposit, withdrawal, limit, after } = options
  const by = {
    index,
    pubkey: key,
    pool,
    nodeOperator: operator,
    depositAddress: deposit,
    withdrawalAddress: withdrawal,
  }
  const found = await queryServerOrStores<FindReply>(options, 'find', { network, ...by, limit, after })
  if (!found) throw new CommandFailure('record.not_found', 'No matches.')
  if (options.json) return printJson(found)
  if (Object.values(by).every((value) => value === undefined)) {
    const rows = found.pools.map((entry) => [entry.pool, String(entry.validators)])
    return print(
      rows.length === 0
        ? 'No pools yet. Import them with "tetrad import entities".'
        : table(['pool', 'validators'], rows),
    )
  }
  const rows = found.validators.map((entry) =>
    [
      entry.validatorIndex,
      entry.status,
      entry.pool ?? '-',
      entry.nodeOperators.join(', ') || '-',
      entry.validatorPubkey,
    ].map(String),
  )
  print(rows.length === 0 ? 'No matches.' : table(['index', 'status', 'pool', 'operators', 'key'], rows))
  if (found.next) note(`For more validators, add --after ${found.validators.at(-1)?.validatorIndex}.`)
}

/** Calls the running server, or opens the databases and uses the chain time that the node reported last. */
async function queryServerOrStores<T>(
  options: CommonOptions,
  name: 'explain' | 'find',
  given: object,
): Promise<T | null> {
  const input = Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined))
  const text = await queryOwner<string | null>(options, {
    name,
    input,
    runInProcess: async (context) => {
      const [{ runOperatorQuery }, { withChainTimes }] = await Promise.all([
        import('#validators/operator-queries.ts'),
        import('#validators/ingest/read/chain-identity.ts'),
      ])
      return runOperatorQuery({ ...context, settings: await withChainTimes(context) }, name, input)
    },
  })
  return text === null ? null : (parseJson(text) as T)
}
