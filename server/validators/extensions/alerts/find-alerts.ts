// Finds the events of one epoch that a webhook gets (behaviour/validators.md#alerts). Pure: the caller reads and stores.
//
// 1. An event about a state (missed attestations, decreasing balance, exit) is found when the state begins. It is not
//    found again before the state has ended.
// 2. An event about one duty (missed block, problem of a block, slashing) is found in the epoch of the duty.
// 3. `recovered` is found when a reported state ends, unless the validator is no longer active or watched.
// 4. `withdrawn` is found elsewhere: it is about an earlier event (head-alerts.ts).
import type { WebhookEvent, WebhookSettings } from '#runtime/settings/webhooks.ts'
import type { FoundBlockProblem } from './check-blocks.ts'
import { isActiveAt, type WatchedValidator } from './watched-validators.ts'

/** What happened in an epoch, by validator. All validators are watched. */
export interface EpochFindings {
  readonly epoch: number
  readonly watched: ReadonlyMap<number, WatchedValidator>
  /** How many epochs in a row, up to this one, the validator has missed its attestation. */
  readonly missedInARow: ReadonlyMap<number, number>
  readonly missedBlocks: ReadonlyMap<number, readonly number[]>
  readonly emptyBlocks: ReadonlyMap<number, readonly number[]>
  /** Since Gloas: payloads that builders did not deliver. */
  readonly withheldPayloads: ReadonlyMap<number, readonly WithheldPayload[]>
  readonly slashings: ReadonlyMap<number, readonly number[]>
  readonly blockProblems: readonly FoundBlockProblem[]
  /** Earnings of the chain hour that ends with this epoch; undefined: none ends, or some of its epochs are missing. */
  readonly hourEarningsGwei: ReadonlyMap<number, number> | undefined
  /**
   * Exit epochs that are not before the examined epochs. Undefined for all but the last one of these, because the
   * registry has no history.
   */
  readonly exitEpochs: ReadonlyMap<number, number> | undefined
}

export interface WithheldPayload {
  readonly slot: number
  /** Index of the builder. */
  readonly builder: number
  /** Whether the builder pays the value of its bid; null: not known. */
  readonly isPaid: boolean | null
}

export interface AlertedValidator {
  readonly index: number
  readonly pool: string | null
  readonly operator: string | null
  /** Of events about blocks. */
  readonly slots?: readonly number[]
  readonly [detail: string]: unknown
}

export interface Alert {
  readonly event: WebhookEvent
  readonly epoch: number
  /** At least one, by index. */
  readonly validators: readonly AlertedValidator[]
}

const stateEvents = ['attestations_missed', 'balance_decreased', 'exit'] as const
type StateEvent = (typeof stateEvents)[number]

/** Reported states that have not ended: event → validator → epoch in which it was reported. */
export type OpenAlerts = ReadonlyMap<string, ReadonlyMap<number, number>>

type Details = ReadonlyMap<number, Readonly<Record<string, unknown>>>

/** `begun`: validators in the state, with details. `lasting`: validators in the state, if it has been reported. */
interface StateNow {
  readonly begun: Details
  readonly lasting: (validator: number) => boolean
}

export function findAlerts(
  findings: EpochFindings,
  webhook: Pick<WebhookSettings, 'events' | 'minMissedInARow' | 'minLossGwei'>,
  openBefore: OpenAlerts,
): { readonly alerts: readonly Alert[]; readonly open: OpenAlerts } {
  const { epoch, watched } = findings
  const found = new Map<WebhookEvent, Details>()
  const open = new Map<string, ReadonlyMap<number, number>>()
  const recovered = new Map<number, { after: string[]; sinceEpoch: number }>()
  for (const event of stateEvents) {
    if (!webhook.events.includes(event)) continue
    const before = openBefore.get(event) ?? new Map<number, number>()
    const now = stateNow(event, findings, webhook)
    if (!now) {
      open.set(event, before)
      continue
    }
    const next = new Map([...before].filter(([validator]) => watched.has(validator) && now.lasting(validator)))
    const begun = new Map([...now.begun].filter(([validator]) => !before.has(validator)))
    for (const validator of begun.keys()) if (now.lasting(validator)) next.set(validator, epoch)
    for (const [validator, sinceEpoch] of before) {
      const entry = watched.get(validator)
      if (next.has(validator) || event === 'exit' || !entry || !isActiveAt(entry, epoch)) continue
      const known = recovered.get(validator)
      recovered.set(validator, {
        after: [...(known?.after ?? []), event],
        sinceEpoch: Math.min(known?.sinceEpoch ?? sinceEpoch, sinceEpoch),
      })
    }
    found.set(event, begun)
    open.set(event, next)
  }
  found.set('block_missed', withSlots(findings.missedBlocks))
  found.set('block_empty', withSlots(findings.emptyBlocks))
  found.set('payload_withheld', withBuilders(findings.withheldPayloads))
  found.set('fee_recipient_wrong', withRecipients(findings.blockProblems, 'wrong_fee_recipient'))
  found.set('relay_unknown', withRecipients(findings.blockProblems, 'unknown_relay'))
  found.set('slashed', withSlots(findings.slashings))
  found.set('recovered', recovered)
  const alerts = webhook.events.flatMap((event): Alert[] => {
    const validators = describeValidators(watched, found.get(event) ?? new Map())
    return validators.length > 0 ? [{ event, epoch, validators }] : []
  })
  return { alerts, open }
}

/** By index, with the details of each. */
export const describeValidators = (watched: EpochFindings['watched'], details: Details): AlertedValidator[] =>
  [...details]
    .sort(([a], [b]) => a - b)
    .map(([index, validatorDetails]) => {
      const { pool = null, operator = null } = watched.get(index) ?? {}
      return { index, pool, operator, ...validatorDetails }
    })

const withSlots = (slots: ReadonlyMap<number, readonly number[]>) =>
  new Map([...slots].map(([validator, validatorSlots]) => [validator, { slots: validatorSlots }]))

const withBuilders = (payloads: EpochFindings['withheldPayloads']): Details =>
  new Map(
    [...payloads].map(([validator, list]) => [
      validator,
      {
        slots: list.map(({ slot }) => slot),
        builders: list.map(({ builder }) => builder),
        paid: list.map(({ isPaid }) => isPaid),
      },
    ]),
  )

function withRecipients(problems: EpochFindings['blockProblems'], duty: FoundBlockProblem['duty']): Details {
  const byValidator = Map.groupBy(
    problems.filter((problem) => problem.duty === duty),
    ({ validator }) => validator,
  )
  return new Map(
    [...byValidator].map(([validator, blocks]) => {
      const slots = blocks.map(({ slot }) => slot)
      return [validator, { slots, feeRecipients: blocks.map(({ feeRecipient }) => feeRecipient) }]
    }),
  )
}

/** Undefined: nothing is known about this epoch, so that the state has not changed. */
function stateNow(
  event: StateEvent,
  { epoch, missedInARow, hourEarningsGwei, exitEpochs }: EpochFindings,
  { minMissedInARow, minLossGwei }: Pick<WebhookSettings, 'minMissedInARow' | 'minLossGwei'>,
): StateNow | undefined {
  if (event === 'attestations_missed') {
    const begun = [...missedInARow]
      .filter(([, count]) => count >= minMissedInARow)
      .map(([validator, count]) => [validator, { missedInARow: count, fromEpoch: epoch - count + 1 }] as const)
    return { begun: new Map(begun), lasting: (validator) => missedInARow.has(validator) }
  }
  if (event === 'exit') {
    return (
      exitEpochs && {
        begun: new Map([...exitEpochs].map(([validator, exitEpoch]) => [validator, { exitEpoch }])),
        lasting: (validator) => (exitEpochs.get(validator) ?? 0) > epoch,
      }
    )
  }
  if (!hourEarningsGwei) return undefined
  const losses = [...hourEarningsGwei].filter(([, gwei]) => -gwei >= minLossGwei)
  return {
    begun: new Map(losses.map(([validator, gwei]) => [validator, { lossGwei: -gwei }])),
    lasting: (validator) => (hourEarningsGwei.get(validator) ?? 0) < 0,
  }
}
