// `tetrad validators income` prints what validators earned by day, as a table or as CSV. It calls the running server, or
// opens the databases if none is running. It needs no key.
import { type Command, InvalidArgumentError } from 'commander'
import type { ReplyOf } from '#api/client/client.ts'
import { parseJson } from '#api/contract/json.ts'
import type { Network } from '#api/contract/wire/validators.ts'
import { counted } from '#core/counted.ts'
import { incomeCsv, type Priced } from '#shared/income-csv.ts'
import { networkOption } from './beacon.ts'
import { queryOwner } from './data-owner.ts'
import { CommandFailure, describeFailure, UsageFailure } from './failure.ts'
import { priceDays } from './income-prices.ts'
import { bold, note, print, printJson } from './print.ts'
import { withActivity } from './progress.ts'
import type { CommonOptions } from './settings.ts'

interface IncomeOptions extends CommonOptions {
  readonly network: Network
  readonly pool?: string
  readonly operator?: string
  readonly withdrawalAddress?: string
  readonly depositAddress?: string
  readonly watched?: true
  readonly fromDate?: string
  readonly toDate?: string
  readonly price?: string
  readonly chainDays?: true
  readonly csv?: true
}

type Reply = ReplyOf<'validators.income'>

interface Income extends Omit<Reply, 'days' | 'total'> {
  readonly days: readonly (Reply['days'][number] & Priced)[]
  readonly total: Reply['total'] & Priced
  readonly coverage?: string
}

export function addIncome(validators: Command): void {
  validators
    .command('income')
    .description('Show what validators earned by day, and their deposits and withdrawals, in gwei.')
    .argument('[indices...]', 'indices of validators', collectIndices)
    .addOption(networkOption())
    .option('--pool <name>', 'all validators of a pool')
    .option('--operator <name>', 'all validators of a node operator')
    .option('--withdrawal-address <address>', 'all validators with this withdrawal address')
    .option('--deposit-address <address>', 'all validators with a deposit from this address')
    .option('--watched', 'all validators on the watch list')
    .option('--from-date <date>', 'first date, YYYY-MM-DD')
    .option('--to-date <date>', 'last date, YYYY-MM-DD')
    .option('--chain-days', 'chain days instead of UTC days')
    .option('--price <currency>', 'add the price of ETH on each UTC date, by the stored rates: EUR', parseCurrency)
    .option('--csv', 'all fields as CSV, one line for each day')
    .action((indices: readonly number[], _: unknown, command: Command) => income(indices, command.optsWithGlobals()))
}

export function collectIndices(text: string, before: readonly number[] = []): readonly number[] {
  const parts = text.split(',').filter((part) => part !== '')
  if (!parts.every((part) => /^\d{1,12}$/.test(part)))
    throw new InvalidArgumentError('Use indices, such as 12 or 12,13.')
  return [...before, ...parts.map(Number)]
}

function parseCurrency(text: string): string {
  if (!/^[A-Z]{3}$/.test(text)) throw new InvalidArgumentError('Use the code of a currency, such as EUR.')
  return text
}

async function income(indices: readonly number[], options: IncomeOptions): Promise<void> {
  const { network, pool, operator, withdrawalAddress, depositAddress, watched, fromDate, toDate, chainDays } = options
  const selection = { pool, nodeOperator: operator, withdrawalAddress, depositAddress, watched }
  const named = { ...selection, ...(indices.length > 0 && { indices }) }
  refuseSelections(named, 'indices, --pool, --operator, --withdrawal-address, --deposit-address and --watched')
  const read = () => queryIncome(options, { network, ...named, fromDate, toDate, utc: !chainDays }).catch(nameOptions)
  const found = await withActivity('Adding up incomes', read, { quiet: options.json })
  if (!found) throw new CommandFailure('record.not_found', `No such validators on ${network}.`)
  const reply = options.price === undefined ? found : await addPrices(options, found, options.price)
  if (options.json) return printJson(reply)
  if (options.csv) return print(incomeCsv(reply.days, options.price !== undefined).trimEnd())
  print(`${bold(counted(reply.validators, 'validator'))}, ${network}, in gwei`)
  for (const day of reply.days) print(`${day.date}  ${amountsText(day)}${priceText(day, options.price)}`)
  print(`${bold('total')}       ${amountsText(reply.total)}${priceText(reply.total, options.price)}`)
  if (reply.coverage !== 'complete') note(`Not all of these epochs are stored: ${reply.coverage ?? 'none'}.`)
}

async function addPrices(options: IncomeOptions, found: Income, currency: string): Promise<Income> {
  const { days, value } = await priceDays(options, found.days, currency)
  return { ...found, days, total: { ...found.total, value } }
}

function priceText({ price, value }: Priced, currency: string | undefined): string {
  if (currency === undefined) return ''
  const at = price == null ? '' : ` at ${price}`
  return `, value ${value == null ? 'unknown' : `${value} ${currency}`}${at}`
}

/** `named` has a value for each way that the user chose. */
function refuseSelections(named: Readonly<Record<string, unknown>>, ways: string): void {
  const count = Object.values(named).filter((value) => value !== undefined).length
  if (count === 1) return
  const problem = count === 0 ? 'No validators are named' : 'The validators are named in several ways'
  throw new UsageFailure('usage', `${problem}. Use one of ${ways}.`)
}

/** Replaces the field names of the endpoint. */
export function nameOptions(error: unknown): never {
  const { code, message } = describeFailure(error)
  const options = message
    .replaceAll('query.', '')
    .replaceAll(/\b(from|to)Date\b/g, (_, bound: string) => `--${bound}-date`)
    .replaceAll('nodeOperator', '--operator')
    .replaceAll(/\bwatched\b/g, '--watched')
  throw new CommandFailure(code, options)
}

function amountsText(amounts: Income['total']): string {
  const { earnings, penalties, priorityFees, mev, deposits, withdrawals, consolidations, balanceChange } = amounts
  const execution = priorityFees === null || mev === null ? 'unknown' : String(Number(priorityFees) + Number(mev))
  const transfers = [
    ['deposits', deposits],
    ['withdrawals', withdrawals],
    ['consolidations', consolidations],
  ] as const
  return [
    `earnings ${earnings} (penalties ${penalties})`,
    `execution ${execution}`,
    ...transfers.filter(([, gwei]) => Number(gwei) !== 0).map(([name, gwei]) => `${name} ${gwei}`),
    `balance ${balanceChange}`,
  ].join(', ')
}

/** Calls the running server, or opens the databases and uses the chain time that the node reported last. */
async function queryIncome(options: CommonOptions, given: object): Promise<Income | null> {
  const input = Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined))
  const text = await queryOwner<string | null>(options, {
    name: 'income',
    input,
    runInProcess: async (context) => {
      const [{ incomeForOperator }, { withChainTimes }] = await Promise.all([
        import('#validators/extensions/income/income-for-operator.ts'),
        import('#validators/ingest/read/chain-identity.ts'),
      ])
      return incomeForOperator({ ...context, settings: await withChainTimes(context) }, input)
    },
  })
  return text === null ? null : (parseJson(text) as Income)
}
