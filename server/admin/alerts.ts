// Alerts for the operator: the validators on the watch lists, alerts that have not ended, and a test delivery to a webhook.

import { Fault } from '#core/fault.ts'
import type { ApiRequest } from '#http/pipeline.ts'
import type { ExtraRoute } from '#http/routes.ts'
import { networksOf } from '#runtime/settings/validators.ts'
import type { AppContext } from '#server/context.ts'
import type { AlertsView, TestAlertReply } from '#shared/console-calls.ts'
import { FetchError } from '#sources/http-client.ts'
import { testBody } from '#validators/extensions/alerts/delivery-body.ts'
import { readWatchedValidators } from '#validators/extensions/alerts/watched-validators.ts'
import { postDelivery } from '#webhooks/send.ts'
import { operatorRoute } from './operator-requests.ts'
import { hostsOnly } from './overview.ts'

/** Validators of a watch list, and open alerts, that are listed. */
const listedMax = 1000

export const alertRoutes: readonly ExtraRoute<AppContext>[] = [
  operatorRoute('/console/alerts', { GET: listAlerts }),
  operatorRoute('/console/alerts/{webhook}/test', { POST: sendTest }),
]

async function listAlerts(_: ApiRequest, context: AppContext): Promise<AlertsView> {
  const open = await context.ingest.all<AlertsView['open'][number]>(
    `select network, webhook, event, validator_index as "validatorIndex", since_epoch as "sinceEpoch"
     from open_alerts order by network, validator_index, event, webhook limit ?`,
    listedMax,
  )
  const watched = await Promise.all(
    networksOf(context.settings).map(async (network) => {
      const indices = [...(await readWatchedValidators(context, network)).keys()].sort((a, b) => a - b)
      return { network, total: indices.length, indices: indices.slice(0, listedMax) }
    }),
  )
  return {
    webhooks: context.settings.validators.webhooks.map(({ id }) => id),
    watched: watched.filter(({ total }) => total > 0),
    open,
  }
}

async function sendTest({ params }: ApiRequest, context: AppContext): Promise<TestAlertReply> {
  const { settings, clock, random, signal } = context
  const webhook = settings.validators.webhooks.find(({ id }) => id === params.webhook)
  if (!webhook) throw new Fault('record.not_found')
  const [deliveryId, nowMs] = [random.uuid(), clock.now()]
  const body = JSON.stringify(testBody(deliveryId, nowMs))
  try {
    const status = await postDelivery(webhook, { id: deliveryId, body, nowMs }, signal)
    return { isDelivered: true, message: `The webhook accepted test delivery ${deliveryId} with status ${status}.` }
  } catch (error) {
    if (signal?.aborted || !(error instanceof FetchError)) throw error
    return { isDelivered: false, message: `The test was not delivered: ${hostsOnly(error.message)}.` }
  }
}
