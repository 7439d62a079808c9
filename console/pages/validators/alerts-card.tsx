// For the operator: the webhooks that get alerts, with a button that sends a test alert to each.
import { useMutation } from '@tanstack/preact-query'
import { operator } from '../../operator.ts'
import { Card } from '../../parts/card.tsx'
import { Failure } from '../../parts/query-result.tsx'

/** Of alerts that last. Others are about one duty and never open. */
const eventTexts: Readonly<Record<string, string>> = {
  attestations_missed: 'missing attestations',
  balance_decreased: 'losing balance',
  exit: 'leaving',
}

/** The text of an open alert. Those about programmes have the name of the programme: `below_programme:<name>`. */
export const openAlertText = (event: string): string =>
  event.startsWith('below_programme:')
    ? `below ${event.slice('below_programme:'.length)}`
    : (eventTexts[event] ?? event)

export function AlertsCard({ webhooks }: { readonly webhooks: readonly string[] }) {
  return (
    <Card id="alerts" title="Alerts">
      {webhooks.length === 0 ? (
        <p className="note">
          No webhook is configured, so no alerts are sent. Add one to <code>validators.webhooks</code> in tetrad.yaml (
          <a href="/docs/alerts.html">Alerts</a>).
        </p>
      ) : (
        webhooks.map((webhook) => <Webhook key={webhook} webhook={webhook} />)
      )}
    </Card>
  )
}

function Webhook({ webhook }: { readonly webhook: string }) {
  const { mutate, data, error, isPending } = useMutation({ mutationFn: () => operator.sendTestAlert(webhook) })
  return (
    <div className="stream">
      <div className="spread">
        <strong>Webhook {webhook}</strong>
        <button type="button" disabled={isPending} onClick={() => mutate()}>
          {isPending ? 'Sending…' : 'Send a test alert'}
        </button>
      </div>
      <div role="status">
        {!isPending && data && <p className={`note ${data.isDelivered ? 'good' : 'bad'}`}>{data.message}</p>}
      </div>
      {!isPending && error && <Failure error={error} />}
    </div>
  )
}
