// Announces the next fork of a network or chain to webhooks: 14 days before it, and daily in the last three days. A fork
// that moves is announced again. Nothing but the deliveries is stored: each has the epoch in which it became due, or for a
// chain the day, and is unique by it.
import type { Network } from '#api/contract/wire/networks.ts'
import { type Epoch, epochAtTime, epochStartMs } from '#core/chain-time.ts'
import { networkSettings } from '#runtime/settings/validators.ts'
import type { ScheduledFork } from '#sources/beacon/next-fork.ts'
import type { NextChainFork } from '#sources/evm/next-fork.ts'
import type { ValidatorsContext } from '../../context.ts'
import { type NewDelivery, storeDeliveries } from './deliveries.ts'

/** Days before the fork. */
const noticeDays = [14, 3, 2, 1] as const
const dayMs = 86_400_000

type ForkContext = Pick<ValidatorsContext, 'ingest' | 'settings' | 'clock' | 'random'>

export type AnnouncedFork =
  | { readonly network: Network; readonly fork: ScheduledFork }
  /** `chain`: its id. */
  | { readonly chain: string; readonly fork: NextChainFork }

/** Returns whether deliveries were stored. */
export async function announceFork(context: ForkContext, announced: AnnouncedFork): Promise<boolean> {
  const { ingest, settings, clock, random } = context
  const { fork } = announced
  const nowMs = clock.now()
  const days = noticeDays.findLast((before) => nowMs >= fork.atMs - before * dayMs)
  if (days === undefined || nowMs >= fork.atMs) return false
  const dueMs = fork.atMs - days * dayMs
  const { subject, due, ...members } =
    'network' in announced ? aboutNetwork(settings, announced, dueMs) : aboutChain(announced, dueMs)
  const body = {
    ...{ createdAt: new Date(nowMs).toISOString(), finality: 'finalized', count: 0, validators: [] },
    ...members,
  }
  const deliveries = settings.validators.webhooks
    .filter(({ events }) => events.includes('fork'))
    .map(({ id: webhook }): NewDelivery => {
      const id = random.uuid()
      const sent = JSON.stringify({ id, event: 'fork', ...body })
      return {
        id,
        webhook,
        event: 'fork',
        network: subject,
        epoch: due,
        finality: 'finalized',
        validators: 0,
        body: sent,
      }
    })
  if (deliveries.length === 0) return false
  await ingest.write((tx) => storeDeliveries(tx, deliveries, nowMs))
  return true
}

function aboutNetwork(
  settings: ForkContext['settings'],
  { network, fork }: Extract<AnnouncedFork, { readonly network: Network }>,
  dueMs: number,
) {
  const time = networkSettings(settings, network)
  const epoch = Math.max(0, epochAtTime(time, dueMs))
  return {
    ...{ subject: network, due: epoch, network, epoch },
    epochEndedAt: new Date(epochStartMs(time, (epoch + 1) as Epoch)).toISOString(),
    text: `${network}: the fork ${fork.name} starts with epoch ${fork.epoch}, ${describe(fork)}`,
    fork: { ...membersOf(fork), epoch: fork.epoch },
  }
}

const aboutChain = ({ chain, fork }: Extract<AnnouncedFork, { readonly chain: string }>, dueMs: number) => ({
  ...{ subject: `chain ${chain}`, due: Math.floor(dueMs / dayMs), chain },
  text: `chain ${chain}: a fork (${fork.name}) starts at ${describe(fork)}`,
  fork: { ...membersOf(fork), epoch: null },
})

const membersOf = ({ name, atMs, isKnown }: NextChainFork) => ({
  ...{ name, at: new Date(atMs).toISOString(), supported: isKnown },
})

const describe = ({ atMs, isKnown }: NextChainFork): string =>
  `${new Date(atMs).toISOString()}; ${isKnown ? 'Tetrad supports it' : 'this version of Tetrad does not support it: update Tetrad before'}`
