// The commands of `tetrad fx` about trades. They use the database, so they work while a server runs.
import { type Command, Option } from 'commander'
import { stringifyJson } from '#api/contract/json.ts'
import { type TradeStatus, tradeStatuses } from '#api/contract/wire/fx-trades.ts'
import type { Report, StoredTrade } from '#fx/extensions/trades/trade-store.ts'
import { ProvenTime } from '#runtime/proven-time.ts'
import { withState } from './data.ts'
import { CommandFailure } from './failure.ts'
import { integerBetween } from './parse-integer.ts'
import { note, print, printJson, table } from './print.ts'
import { clock, random } from './runtime.ts'
import { type CommonOptions, configOf } from './settings.ts'

export function addTrades(fx: Command): void {
  fx.command('trades')
    .description('List trades of all keys, newest first.')
    .addOption(new Option('--status <status>', 'only trades with this status').choices(tradeStatuses))
    .option('--limit <n>', 'maximum number of trades', integerBetween(1, 10_000), 100)
    .action((_: unknown, command: Command) => trades(command.optsWithGlobals()))

  fx.command('trade')
    .description('Show a trade, or report its settlement. With fx.rpcUrl, the receipt of the transaction is checked.')
    .argument('<id>', 'id of the trade')
    .addOption(new Option('--settled <transaction>', 'it was settled by this transaction').conflicts('failed'))
    .option('--failed <transaction>', 'this transaction should have settled it, and was reverted')
    .option('--permit', 'print what is needed to settle it, with the signature. Keep it secret')
    .option('--by <who>', 'author of the report (default: name of the user)')
    .action((id: string, _: unknown, command: Command) => trade(id, command.optsWithGlobals()))

  fx.command('check-spender')
    .description('Simulate whether a stranger can settle at the contract of fx.spender. Sends nothing.')
    .action((_: unknown, command: Command) => checkContract(command.optsWithGlobals()))
}

async function checkContract(options: CommonOptions): Promise<void> {
  const { checkSpender } = await import('#fx/extensions/signature-check/check-spender.ts')
  const { fx } = (await configOf(options)).settings
  if (fx.spender === '' || fx.rpcUrl === '')
    throw new CommandFailure('spender.unchecked', 'Set fx.spender, and fx.rpcUrl to a node of its chain.')
  const { is, message } = await checkSpender({ fx, clock, random })
  if (options.json) return printJson({ is, message })
  print(`${is === 'refuses' ? 'ok' : 'WARNING'}: ${message}`)
}

/** Only a server deletes and expires, so no time is proven here. */
const nowMs = (): number => new ProvenTime(clock).forDeletions()

async function trades(options: CommonOptions & { status?: TradeStatus; limit: number }): Promise<void> {
  const { listTrades } = await import('#fx/extensions/trades/trade-store.ts')
  const query = { nowMs: nowMs(), status: options.status, count: options.limit }
  const list = await withState(options, 'found', (state) => listTrades(state, query))
  if (options.json) return printJson(list.map(viewOf))
  if (list.length === 0) return note('There are no trades.')
  print(
    table(
      ['accepted', 'id', 'status', 'from', 'to', 'address', 'maturity'],
      list.map(({ trade: { createDate, id, status, from, to, address, maturity } }) => [
        ...[createDate, id, status, `${from.amount} ${from.currency}`, `${to.amount} ${to.currency}`],
        ...[address, maturity],
      ]),
    ),
  )
}

const viewOf = ({ trade, keyId, reportedBy }: StoredTrade) => ({ ...trade, keyId, reportedBy })

interface TradeOptions extends CommonOptions {
  readonly settled?: string
  readonly failed?: string
  readonly permit?: true
  readonly by?: string
}

async function trade(id: string, options: TradeOptions): Promise<void> {
  const { readPermit, readTrade } = await import('#fx/extensions/trades/trade-store.ts')
  if (options.permit) {
    const permit = await withState(options, 'found', (state) => readPermit(state, id))
    if (!permit) throw unknownTrade(id)
    return print(stringifyJson(permit, 2))
  }
  const report = await reportOf(options)
  const stored = report
    ? await sendReport(id, report, options)
    : await withState(options, 'found', (state) => readTrade(state, id, { nowMs: nowMs() }))
  if (!stored) throw unknownTrade(id)
  print(stringifyJson(viewOf(stored), 2))
}

async function reportOf({ settled, failed, by }: TradeOptions): Promise<Report | undefined> {
  const txHash = settled ?? failed
  if (txHash === undefined) return undefined
  if (!/^0x[0-9a-fA-F]{64}$/.test(txHash))
    throw new CommandFailure('transaction.unreadable', 'The transaction must be 0x and 64 hexadecimal digits.')
  const { userInfo } = await import('node:os')
  return { status: settled === undefined ? 'failed' : 'settled', txHash, by: by ?? userInfo().username }
}

async function sendReport(id: string, report: Report, options: CommonOptions): Promise<StoredTrade | undefined> {
  const { reportAboutTrade } = await import('#fx/extensions/trades/report-trade.ts')
  const { createFxCaches } = await import('#fx/context.ts')
  const { silentLog } = await import('#runtime/log.ts')
  const { settings } = await configOf(options)
  let reason = ''
  const log = {
    ...silentLog,
    warn: (fields: object) => {
      reason = String((fields as { reason?: unknown }).reason)
    },
  }
  try {
    return await withState(options, 'found', (state) =>
      reportAboutTrade({ state, settings, clock, random, log, fx: createFxCaches() }, id, report),
    )
  } catch (error) {
    if (reason !== '') note(reason)
    throw error
  }
}

const unknownTrade = (id: string) => new CommandFailure('trade.unknown', `There is no trade ${id}.`)
