// `tetrad validators alerts` lists deliveries to webhooks, `tetrad validators alerts test` sends one to a webhook. Both
// work with or without a running server.
import type { Command } from 'commander'
import { epochNumber } from './beacon.ts'
import { withIngest } from './data.ts'
import { CommandFailure } from './failure.ts'
import { minuteText, print, printJson, printResult, table } from './print.ts'
import { clock, random } from './runtime.ts'
import { type CommonOptions, configOf } from './settings.ts'

interface ListOptions extends CommonOptions {
  readonly limit: number
}

export function addAlerts(validators: Command): void {
  const alerts = validators
    .command('alerts')
    .description('Show what was sent to the webhooks of `validators.webhooks`, and test them.')
  alerts
    .command('list', { isDefault: true })
    .description('List deliveries, newest first.')
    .option('--limit <n>', 'deliveries to show', epochNumber, 20)
    .action((_: unknown, command: Command) => list(command.optsWithGlobals()))
  alerts
    .command('test')
    .description('Send a signed test event to a webhook, and show the result.')
    .argument('<webhook>', 'id of the webhook')
    .action((id: string, _: unknown, command: Command) => sendTest(id, command.optsWithGlobals()))
}

async function list(options: ListOptions): Promise<void> {
  const { listDeliveries } = await import('#validators/extensions/alerts/deliveries.ts')
  const deliveries = await withIngest(options, 'found', (ingest) => listDeliveries(ingest, options.limit))
  if (options.json)
    return printJson(deliveries.map(({ body, ...delivery }) => ({ ...delivery, body: JSON.parse(body) })))
  if (deliveries.length === 0) return print('No deliveries yet.')
  const rows = deliveries.map(
    ({ createdMs, status, attempts, webhook, event, finality, network, epoch, validators, lastError }) => [
      ...[minuteText(createdMs), status, String(attempts), webhook, event, finality, network, String(epoch)],
      ...[String(validators), lastError ?? '-'],
    ],
  )
  const columns = ['time', 'status', 'attempts', 'webhook', 'event', 'finality', 'network', 'epoch', 'validators']
  print(table([...columns, 'error'], rows))
}

async function sendTest(id: string, options: CommonOptions): Promise<void> {
  const { webhooks } = (await configOf(options)).settings.validators
  const webhook = webhooks.find((candidate) => candidate.id === id)
  if (!webhook) {
    const known = webhooks.map((candidate) => candidate.id).join(', ')
    const todo = known === '' ? 'Add it to validators.webhooks' : `Known webhooks: ${known}`
    throw new CommandFailure('webhook.unknown', `There is no webhook ${id}. ${todo}.`)
  }
  const [{ postDelivery }, { testBody }, { FetchError, cleanUrl }] = await Promise.all([
    import('#webhooks/send.ts'),
    import('#validators/extensions/alerts/delivery-body.ts'),
    import('#sources/http-client.ts'),
  ])
  const [nowMs, deliveryId] = [clock.now(), random.uuid()]
  const body = JSON.stringify(testBody(deliveryId, nowMs))
  try {
    const status = await postDelivery(webhook, { id: deliveryId, body, nowMs })
    const text = `${cleanUrl(webhook.url)} accepted test delivery ${deliveryId} with status ${status}.`
    printResult(options, { id: deliveryId, status }, text)
  } catch (error) {
    if (!(error instanceof FetchError)) throw error
    throw new CommandFailure('webhook.failed', `The test was not delivered: ${error.message}.`)
  }
}
