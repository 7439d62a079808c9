// `tetrad validators explain` shows the duties behind a score, `tetrad validators find` who there is. Both ask the running server
// or open the stores themselves, and need no key.
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

/** After the command `validators` is there. */
export function addValidators(program: Command): void {
  const validators = program.commands.find((command) => command.name() === 'validators')
  validators
    ?.command('explain')
    .description('The duties behind a score: what was missed, late or wrong, and whose fault it was.')
    .argument('<validator>', 'index or public key')
    .addOption(networkOption())
    .option('--from-day <n>', 'first chain day', epochNumber)
    .option('--to-day <n>', 'last chain day', epochNumber)
    .option('--from-date <date>', 'first date, YYYY-MM-DD')
    .option('--to-date <date>', 'last date')
    .option('--utc', 'UTC days instead of chain days')
    .option('--limit <n>', 'days to show, at most 100', epochNumber, 10)
    .option('--offset <n>', 'days to skip', epochNumber, 0)
    .action((who: string, _: unknown, command: Command) => explain(who, command.optsWithGlobals()))
  validators
    ?.command('find')
    .description('Validators by one of the options; without any, the pools there are.')
    .addOption(networkOption())
    .option('--index <n>', 'validator index', epochNumber)
    .option('--key <hex>', 'public key, or its first 6 digits or more')
    .option('--pool <name>', 'name of the pool')
    .option('--operator <name>', 'name of a node operator')
    .option('--deposit <address>', 'who paid a deposit')
    .option('--withdrawal <address>', 'where withdrawals go')
    .option('--limit <n>', 'how many to show, at most 1000', epochNumber, 100)
    .option('--after <index>', 'go on behind this validator', epochNumber)
    .action((_: unknown, command: Command) => find(command.optsWithGlobals()))
}

async function explain(who: string, options: ExplainOptions): Promise<void> {
  const { network, fromDay, toDay, fromDate, toDate, utc, limit, offset } = options
  const bounds = { fromDay, toDay, fromDate, toDate, utc, limit, offset }
  const reply = await queryServerOrStores<Explained>(options, 'explain', {
    network,
    validator_index_or_pubkey: who,
    ...bounds,
  })
  if (!reply) throw new CommandFailure('record.unknown', `${network} knows no validator ${who}.`)
  if (options.json) return printJson(reply)
  print(`${bold(`validator ${reply.validatorIndex}`)}, ${network}`)
  for (const day of reply.results) print(dayText(day))
  if (reply.results.length === 0) print('There are no duties in these days.')
  if (reply.coverage !== 'complete') note(`Single epochs are known for ${reply.coverage ?? 'none'} only.`)
  if (reply.next) note(`There are more days: --offset ${offset + limit}.`)
}

function dayText(day: Explained['results'][number]): string {
  const votes = `${day.totalUniqueAttestations} of ${day.totalAttestationAssignments} votes`
  const counted = [
    [day.sumMissedAttestations, 'missed'],
    [day.sumWrongTargetVotes, 'with a wrong target'],
    [day.sumWrongHeadVotes, 'with a wrong head'],
    [day.slashesReceived, 'slashings'],
  ] as const
  const lacks = counted.filter(([count]) => Number(count) > 0).map(([count, what]) => `${count} ${what}`)
  const blocks = day.proposerDutiesCount ? [`${day.proposedCount} of ${day.proposerDutiesCount} blocks`] : []
  const score = day.validatorEffectiveness === null ? 'no score' : day.validatorEffectiveness.toFixed(2)
  return [
    `\n${bold(`day ${day.day}`)}  ${day.date}  ${score}  ${[votes, ...lacks, ...blocks].join(', ')}`,
    ...day.epochs.map(({ epoch, message: text }) => `  epoch ${epoch}: ${text.join('; ')}`),
    ...(day.epochsKnown ? [] : ['  not all of its epochs are known one by one']),
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
  if (!found) throw new CommandFailure('record.unknown', 'Nothing was found.')
  if (options.json) return printJson(found)
  if (Object.values(by).every((value) => value === undefined)) {
    const rows = found.pools.map((one) => [one.pool, String(one.validators)])
    return print(
      rows.length === 0
        ? 'No pools are known; tetrad import entities tells them.'
        : table(['pool', 'validators'], rows),
    )
  }
  const rows = found.validators.map((one) =>
    [one.validatorIndex, one.status, one.pool ?? '-', one.nodeOperators.join(', ') || '-', one.validatorPubkey].map(
      String,
    ),
  )
  print(
    rows.length === 0 ? 'No validator is known by that.' : table(['index', 'status', 'pool', 'operators', 'key'], rows),
  )
  if (found.next) note(`There are more: --after ${found.validators.at(-1)?.validatorIndex}.`)
}

/** The server that runs, or the stores themselves with chain time as the node told it. */
async function queryServerOrStores<T>(
  options: CommonOptions,
  name: 'explain' | 'find',
  given: object,
): Promise<T | null> {
  const input = Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined))
  const text = await queryOwner<string | null>(options, {
    name,
    input,
    runHere: async (context) => {
      const [{ runOperatorQuery: askViaControl }, { withChainTimes }] = await Promise.all([
        import('#validators/operator-queries.ts'),
        import('#validators/ingest/read/chain-identity.ts'),
      ])
      return askViaControl({ ...context, settings: await withChainTimes(context) }, name, input)
    },
  })
  return text === null ? null : (parseJson(text) as T)
}
