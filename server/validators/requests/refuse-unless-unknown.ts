// Decides whether a validator that is not in the registry does not exist (404), or may exist but is not stored here
// (behaviour/validators.md#unknown-validators). The registry is written before the epochs it was read with are covered,
// so once an epoch is covered, the registry has all validators that are stored.

import type { Network } from '#api/contract/wire/validators.ts'
import { Fault } from '#core/fault.ts'
import { networkSettings } from '#runtime/settings/validators.ts'
import type { ValidatorsContext } from '../context.ts'
import { validatorCount } from '../duties/networks.ts'
import { readWatched } from '../duties/watch-ranges.ts'
import { findIndex } from '../registry/registry.ts'
import { readWatchNames } from '../registry/watch-names.ts'
import { getNetworkCoverage } from './coverage.ts'

/** The first epoch takes some minutes, too long to wait for in a request. */
const retryAfterMs = 60_000
const headers = { 'x-tetrad-coverage': 'none' }

/**
 * Throws a fault unless the validator does not exist. `name` is an index or a public key that is not in the registry.
 */
export async function refuseUnlessUnknown(context: ValidatorsContext, network: Network, name: string): Promise<void> {
  const { covered, isWatched } = await getNetworkCoverage(context, network)
  if (covered.length === 0) {
    refuseUnread(context, network)
    throw new Fault('validators.not_covered', { headers, retryAfterMs })
  }
  // It may have been added since the caller looked.
  if ((await findIndex(context.ingest, network, name)) !== undefined)
    throw new Fault('validators.not_covered', { headers, retryAfterMs: 1000 })
  if (isWatched && (await mayExist(context, network, name))) throw new Fault('validators.not_watched', { headers })
}

/** For networks without stored epochs. Throws a fault if no beacon node is configured, so there will never be one. */
export function refuseUnread({ settings }: Pick<ValidatorsContext, 'settings'>, network: Network): void {
  if (networkSettings(settings, network).beacon.urls.length > 0) return
  throw new Fault('validators.not_read', { headers })
}

/** With a watch list, the registry has only the validators on it. */
async function mayExist(context: ValidatorsContext, network: Network, name: string): Promise<boolean> {
  const { duties } = context
  if ((await readWatched(duties, network)) === 'everyone') return false
  if (/^\d{1,12}$/.test(name))
    return Number(name) < ((await validatorCount(duties, network)) ?? Number.POSITIVE_INFINITY)
  const key = `0x${name.replace(/^0x/i, '')}`.toLowerCase()
  const { names } = await readWatchNames(context, network)
  return !names.some((watched) => watched.toLowerCase() === key)
}
