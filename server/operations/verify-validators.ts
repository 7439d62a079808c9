// Verifies one hour of duties, and public keys of validators, against a beacon node.

import type { Network } from '#api/contract/wire/validators.ts'
import { errorMessage } from '#core/error-message.ts'
import type { Range } from '#core/ranges.ts'
import { timeoutSignal } from '#runtime/clock.ts'
import { networkSettings, networksOf } from '#runtime/settings/validators.ts'
import type { AppContext } from '#server/context.ts'
import { type Beacon, openBeacon } from '#sources/beacon/client.ts'
import { dataOf } from '#sources/beacon/endpoint.ts'
import { requiredChain } from '#validators/ingest/read/chain-identity.ts'
import { storedHours, verifyHour } from '#validators/ingest/repair/verify-hour.ts'
import { followedNetworks } from '#validators/ingest/start.ts'
import { readValidator } from '#validators/registry/registry.ts'
import {
  compareEach,
  nothingToVerify,
  optionalNotes,
  randomBelow,
  SourceUnavailable,
  sampleOf,
  type Verification,
} from './verification.ts'

/** Reading an hour again takes as long as ingesting it. */
const rereadTimeoutMs = 600_000

/** Every row of one hour per network: a random hour, or the newest one if the node no longer has the old states. */
export const dutyHourVerification: Verification = {
  name: 'one hour of duties against a beacon node',
  todo: 'compare with a second node; if it agrees with the first, run `tetrad repair --network … --from-epoch … --until-epoch …` for its epochs',
  async run(context, _, dataDir) {
    const followed = followedNetworks(context)
    if (followed.length === 0) return nothingToVerify('no network has a beacon node')
    let checked = 0
    const [differing, notes, unable]: [string[], string[], string[]] = [[], [], []]
    for (const network of followed) {
      const ranges = await storedHours(context, network)
      const newest = (ranges.at(-1)?.until ?? 0) - 1
      const failed: string[] = []
      for (const hour of new Set(ranges.length > 0 ? [numberIn(context, ranges), newest] : [])) {
        try {
          const read = await verifyHour(context, network, hour, timeoutSignal(context.clock, rereadTimeoutMs), dataDir)
          checked += read.checked
          differing.push(...read.differing)
          notes.push(...failed.splice(0), `${network} hour ${hour}`)
          break
        } catch (error) {
          failed.push(`${network} hour ${hour} cannot be read: ${errorMessage(error)}`)
        }
      }
      unable.push(...failed)
    }
    return { checked, differing, ...optionalNotes(notes, unable) }
  },
}

/** A random number within the ranges. */
function numberIn(context: AppContext, ranges: readonly Range[]): number {
  let at = randomBelow(
    context,
    ranges.reduce((sum, { from, until }) => sum + until - from, 0),
  )
  for (const { from, until } of ranges) {
    if (at < until - from) return from + at
    at -= until - from
  }
  throw new Error('the drawn number is outside the ranges')
}

export const registryVerification: Verification = {
  name: 'public keys of validators against a beacon node',
  todo: 'the node is on another chain, or the registry was filled from one; correct validators.networks',
  async run(context, count) {
    const readNetworks = networksOf(context.settings).filter(
      (network) => networkSettings(context.settings, network).beacon.urls.length > 0,
    )
    if (readNetworks.length === 0) return nothingToVerify('no network has a beacon node')
    const items = await sampleOf(count, {
      takeFirst: async (limit) =>
        (await Promise.all(readNetworks.map((one) => findKnown(context, one, 0, limit)))).flat().slice(0, limit),
      drawOne: async () => {
        const network = readNetworks[randomBelow(context, readNetworks.length)] as Network
        const last = await context.ingest.get<{ last: number | null }>(
          'select max(validator_index) as last from validators where network = ?',
          network,
        )
        return (await findKnown(context, network, randomBelow(context, (last?.last ?? 0) + 1), 1))[0]
      },
      keyOf: ({ network, index }) => `${network} ${index}`,
    })
    return compareEach(items, ({ network, index }) => comparePubkey(context, network, index))
  },
}

const findKnown = async ({ ingest }: AppContext, network: Network, from: number, limit: number) => {
  const rows = await ingest.all<{ index: number }>(
    `select validator_index as "index" from validators where network = ? and validator_index >= ?
     order by validator_index limit ?`,
    ...[network, from, limit],
  )
  return rows.map(({ index }) => ({ network, index }))
}

async function comparePubkey(context: AppContext, network: Network, index: number): Promise<string | undefined> {
  const entry = await readValidator(context.ingest, network, index)
  const { urls, timeoutMs } = networkSettings(context.settings, network).beacon
  const path = `/eth/v1/beacon/states/finalized/validators/${index}`
  const identity = await requiredChain(context, network)
  const beacon = openBeacon({ network, urls, timeoutMs, clock: context.clock, identity })
  const reported = await beacon
    .request({ path }, (reply) => (reply.is === 'json' ? pubkeyOf(dataOf(reply.body)) : undefined))
    .catch((error: unknown) => {
      throw new SourceUnavailable(errorMessage(error))
    })
  if (reported === undefined) throw new SourceUnavailable(describeUnknown(beacon, `${network} validator ${index}`))
  const isSame = reported.toLowerCase() === entry?.pubkey.toLowerCase()
  return isSame ? undefined : `${network} validator ${index}: stored ${entry?.pubkey}, the node shows ${reported}`
}

/** The chain of the nodes was checked before, so they do not have the state yet, or not any more. */
function describeUnknown(beacon: Beacon, what: string): string {
  const answers = beacon.each().map((node) => {
    const answer = node.lastNotFound()
    return answer === undefined ? `${node.name} shows no public key` : `${node.name} shows no public key (${answer})`
  })
  return `${what}: in its last finalized state, ${answers.join('; ')}. It may still be syncing, or not keep this state`
}

const pubkeyOf = (data: unknown): string | undefined => {
  const { validator } = (data ?? {}) as { validator?: { pubkey?: unknown } }
  return typeof validator?.pubkey === 'string' ? validator.pubkey : undefined
}
