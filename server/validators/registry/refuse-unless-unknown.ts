// Whether a validator that the registry does not hold can be said not to exist (behaviour/validators.md#unknown-validators). The registry is written before
// the epochs it was read with count as read, so behind the first of them it holds everyone who is kept.
import type { Network } from '#api/wire/validators.ts'
import { Fault } from '#core/fault.ts'
import type { ValidatorsContext } from '../context.ts'
import { validatorCount } from '../duties/networks.ts'
import { readWatched } from '../duties/watch-ranges.ts'
import { getNetworkCoverage } from '../ratings/coverage.ts'
import { findIndex } from './registry.ts'

/** A first epoch takes a node and us some minutes: not worth waiting for inside a call. */
const retryAfterMs = 60_000
const headers = { 'x-tetrad-coverage': 'none' }

/** A fault, unless there is no such validator. `name` is an index or a public key that was looked for in vain. */
export async function refuseUnlessUnknown(context: ValidatorsContext, network: Network, name: string): Promise<void> {
  const { covered, isWatched } = await getNetworkCoverage(context, network)
  if (covered.length === 0) {
    const isFollowed = context.settings.validators.networks[network].beacon.urls.length > 0
    throw isFollowed
      ? new Fault('validators.not_covered', { headers, retryAfterMs })
      : new Fault('validators.not_kept', {
          headers,
          message: 'This network is not read here, so none of its validators is known.',
        })
  }
  // It may have been read between the two looks.
  if ((await findIndex(context.state, network, name)) !== undefined)
    throw new Fault('validators.not_covered', { headers, retryAfterMs: 1000 })
  if (isWatched && (await mayExist(context, network, name))) throw new Fault('validators.not_kept', { headers })
}

/** With a watch list the registry holds those on it alone, whoever else there is. */
async function mayExist({ duties, settings }: ValidatorsContext, network: Network, name: string): Promise<boolean> {
  if ((await readWatched(duties, network)) === 'everyone') return false
  if (/^\d{1,12}$/.test(name))
    return Number(name) < ((await validatorCount(duties, network)) ?? Number.POSITIVE_INFINITY)
  const key = `0x${name.replace(/^0x/i, '')}`.toLowerCase()
  return !settings.validators.networks[network].watch.some((watched) => watched.toLowerCase() === key)
}
