// Announces the next fork of a network to webhooks: 14 days before it, and daily in the last three days. A fork that moves
// is announced again. Nothing but the deliveries is stored: each has the epoch in which it became due, and is unique by it.
import type { Network } from '#api/contract/wire/networks.ts'
import { type Epoch, epochSeconds, epochStartMs } from '#core/chain-time.ts'
import { networkSettings } from '#runtime/settings/validators.ts'
import type { ScheduledFork } from '#sources/beacon/next-fork.ts'
import type { ValidatorsContext } from '../../context.ts'
import { type NewDelivery, storeDeliveries } from './deliveries.ts'

/** Days before the fork. */
const noticeDays = [14, 3, 2, 1] as const
const dayMs = 86_400_000

type ForkContext = Pick<ValidatorsContext, 'ingest' | 'settings' | 'clock' | 'random'>

/** Returns whether deliveries were stored. */
export async function examineFork(
  context: ForkContext,
  network: Network,
  fork: ScheduledFork | undefined,
): Promise<boolean> {
  const { ingest, settings, clock, random } = context
  const nowMs = clock.now()
  const days = fork && noticeDays.findLast((before) => nowMs >= fork.atMs - before * dayMs)
  if (!fork || days === undefined || nowMs >= fork.atMs) return false
  const time = networkSettings(settings, network)
  const epoch = Math.max(0, fork.epoch - Math.ceil((days * dayMs) / 1000 / epochSeconds(time)))
  const deliveries = settings.validators.webhooks
    .filter(({ events }) => events.includes('fork'))
    .map(({ id: webhook }): NewDelivery => {
      const id = random.uuid()
      const body = JSON.stringify(
        forkBody({ id, network, fork, nowMs, epoch, endMs: epochStartMs(time, (epoch + 1) as Epoch) }),
      )
      return { id, webhook, event: 'fork', network, epoch, finality: 'finalized', validators: 0, body }
    })
  if (deliveries.length === 0) return false
  await ingest.write((tx) => storeDeliveries(tx, deliveries, nowMs))
  return true
}

interface ForkBody {
  readonly id: string
  readonly network: Network
  readonly fork: ScheduledFork
  readonly nowMs: number
  readonly epoch: number
  readonly endMs: number
}

const forkBody = ({ id, network, fork, nowMs, epoch, endMs }: ForkBody) => {
  const at = new Date(fork.atMs).toISOString()
  const todo = fork.isKnown ? 'Tetrad supports it' : 'this version of Tetrad does not support it: update Tetrad before'
  return {
    ...{ id, event: 'fork', text: `${network}: the fork ${fork.name} starts with epoch ${fork.epoch}, ${at}; ${todo}` },
    ...{ createdAt: new Date(nowMs).toISOString(), network, epoch, epochEndedAt: new Date(endMs).toISOString() },
    ...{ finality: 'finalized', count: 0, validators: [] },
    fork: { name: fork.name, epoch: fork.epoch, at, supported: fork.isKnown },
  }
}
