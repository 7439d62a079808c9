// What runs while the server runs: every network with a beacon node is followed. And what /readyz says about it.
import { type Network, networks } from '#api/wire/validators.ts'
import { poll } from '#ingest/poll.ts'
import { openBeacon } from '#io/beacon/client.ts'
import { openRpc } from '#io/evm/rpc.ts'
import type { Desk } from '#serve/answer.ts'
import type { Finding } from '#serve/health.ts'
import { coveredEpochs } from '../duties.ts'
import { storedChain } from './chain.ts'
import { executionFrom } from './execution.ts'
import { Follower, type Progress } from './follow.ts'

/** A first catch-up may take days; it is bounded per answer, not as a whole. */
const attemptMs = 7 * 86_400_000
const backoffMaxMs = 60_000
/** Finality needs two epochs, the votes of the last one a third; more than this is worth a word. */
const behindMaxEpochs = 8

const followed = (desk: Pick<Desk, 'settings'>): Network[] =>
  desk.settings.groups.validators.on
    ? networks.filter((network) => desk.settings.validators.networks[network].beacon.urls.length > 0)
    : []

/** Resolves when the signal has ended all loops. */
export async function startBeacon(
  desk: Desk,
  signal: AbortSignal,
  tell: (network: Network, progress: Progress) => void = () => {},
): Promise<void> {
  await Promise.all(followed(desk).map((network) => follow(desk, network, signal, (at) => tell(network, at))))
}

export async function followerOf(desk: Desk, network: Network): Promise<Follower> {
  const { beacon, execution } = desk.settings.validators.networks[network]
  const { urls, timeoutMs } = beacon
  const identity = await storedChain(desk.facts, network)
  const rpc =
    execution.rpc.length > 0 ? openRpc({ chain: execution.chainId, rpc: execution.rpc, clock: desk.clock }) : undefined
  return new Follower(
    desk,
    network,
    openBeacon({ network, urls, timeoutMs, clock: desk.clock, identity }),
    rpc && executionFrom(rpc),
  )
}

async function follow(
  desk: Desk,
  network: Network,
  signal: AbortSignal,
  tell: (progress: Progress) => void,
): Promise<void> {
  const follower = await followerOf(desk, network)
  await poll(
    desk,
    {
      everyMs: desk.settings.validators.networks[network].beacon.everyMs,
      timeoutMs: attemptMs,
      backoffMaxMs,
      work: (stop) =>
        follower.catchUp(stop, (progress) => {
          desk.log.info({ network, ...progress }, 'epochs were read')
          tell(progress)
        }),
      report: (outcome) => {
        if (outcome.is === 'failed') {
          const reason = outcome.error instanceof Error ? outcome.error.message : String(outcome.error)
          desk.log.warn({ network, failures: outcome.failures, reason }, 'the beacon node could not be read')
        } else if (outcome.failuresBefore > 0) {
          desk.log.info({ network }, 'the beacon node can be read again')
        }
      },
    },
    signal,
  )
}

/** How far each followed network has been read, against the clock. */
export async function beaconFindings(desk: Desk): Promise<Finding[]> {
  return Promise.all(
    followed(desk).map(async (network) => {
      const time = desk.settings.validators.networks[network]
      const until = (await coveredEpochs(desk.facts, network)).at(-1)?.until
      const nowEpoch = Math.floor(
        (desk.clock.now() / 1000 - time.genesisUnix) / (time.slotSeconds * time.slotsPerEpoch),
      )
      const behind = until === undefined ? undefined : nowEpoch - until
      return {
        name: `beacon ${network}`,
        ok: behind !== undefined && behind <= behindMaxEpochs,
        says: behind === undefined ? 'no epoch has been read yet' : `${behind} epochs behind`,
      }
    }),
  )
}
