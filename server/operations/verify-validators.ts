// Days of duties from their hours, an hour of duties from a beacon node, and public keys from a beacon node.
import { type Network, networks } from '#api/wire/validators.ts'
import { chainDays, type DayCalendar, type Epoch, utcDays } from '#core/chain-time.ts'
import { holes, type Range, within } from '#core/ranges.ts'
import type { AppContext } from '#server/context.ts'
import { dataOf, openBeacon } from '#sources/beacon/client.ts'
import { coveredEpochs } from '#validators/duties/coverage.ts'
import { hourEpochs } from '#validators/duties/hours.ts'
import { partOf, plainTime } from '#validators/duties/layout.ts'
import { queryDuties } from '#validators/duties/store.ts'
import { followedNetworks } from '#validators/ingest/start.ts'
import { storedHours, verifyHour } from '#validators/ingest/verify-hour.ts'
import { type Measure, measures } from '#validators/ratings/measures.ts'
import { readValidator } from '#validators/registry/registry.ts'
import { errorMessage } from './diagnosis.ts'
import {
  compareEach,
  nothingToVerify,
  optionalNotes,
  randomBelow,
  SourceUnavailable,
  sampleOf,
  type Verification,
} from './verification.ts'

interface DutyDay {
  readonly network: Network
  readonly day: number
  readonly validator: number
}

/** Days are sums of hours; hours that have expired cannot be added up. */
export const dutyDayVerification = (kind: 'chain' | 'UTC'): Verification => ({
  name: `validators’ ${kind} days from their hours`,
  todo: 'run `tetrad repair --network … --from-epoch … --until-epoch …` for the epochs of these days, or restore a backup',
  async run(context, count) {
    const { duties, settings } = context
    const isUtc = kind === 'UTC'
    const lineOf = (network: Network) =>
      (isUtc ? utcDays : chainDays)(settings.validators.networks[network]) as DayCalendar
    const known = await Promise.all(
      networks.map(async (network) => ({ network, ranges: await hourEpochs(duties, network) })),
    )
    const places = known.filter(({ ranges }) => ranges.length > 0)
    const any = async (): Promise<DutyDay | undefined> => {
      const place = places[randomBelow(context, places.length)]
      if (!place) return undefined
      const { network, ranges } = place
      const line = lineOf(network)
      const epoch = numberIn(context, ranges) as Epoch
      const day = line.dayOf(epoch)
      const { from, until } = line.epochsOf(day)
      // Of a day that has lost some of its hours, the sum is not known.
      const read = within(await coveredEpochs(duties, network), { from, until })
      if (read.some((range) => holes(ranges, range).length > 0)) return undefined
      const part = partOf(settings.validators.networks[network], epoch)
      const who = await queryDuties(duties, 'validatorsIn', { network, part })
      const validator = who[randomBelow(context, who.length)]
      return validator === undefined ? undefined : { network, day, validator }
    }
    const items = await sampleOf(count, { any, keyOf: (one) => `${one.network} ${one.day} ${one.validator}` })
    return compareEach(items, async ({ network, day, validator }) => {
      const sums = async (grain: 'days' | 'hours') => {
        const query = {
          ...{ network, isUtc, grain, days: { from: day, until: day + 1 } },
          time: plainTime(settings.validators.networks[network]),
          validators: [validator],
          windowOf: [day],
          byValidator: false,
        }
        const found = await queryDuties(duties, 'sumRecords', { query, wanted: { measures, scores: [] } })
        return (measure: Measure) => (found.sums[measure] as Float64Array).reduce((total, one) => total + one, 0)
      }
      const [stored, summed] = [await sums('days'), await sums('hours')]
      const odd = measures.find((name) => stored(name) !== summed(name))
      const { from, until } = lineOf(network).epochsOf(day)
      const words = `${network} validator ${validator} ${kind} day ${day} (epochs ${from} to ${until - 1})`
      return odd && `${words}: ${odd} is ${stored(odd)}, its hours give ${summed(odd)}`
    })
  },
})

/** Reading an hour takes what ingesting it took. */
const rereadMs = 600_000

/** One hour of each network, every row of it. Nodes keep old states for a while only: then the newest hour has to do. */
export const dutyHourVerification: Verification = {
  name: 'an hour of duties from a beacon node',
  todo: 'ask a second node; if it agrees with the first, run `tetrad repair --network … --from-epoch … --until-epoch …` for its epochs',
  async run(context) {
    const own = followedNetworks(context)
    if (own.length === 0) return nothingToVerify('no network has a beacon node')
    let checked = 0
    const [differing, notes, unable]: [string[], string[], string[]] = [[], [], []]
    for (const network of own) {
      const ranges = await storedHours(context, network)
      const newest = (ranges.at(-1)?.until ?? 0) - 1
      const failed: string[] = []
      for (const hour of new Set(ranges.length > 0 ? [numberIn(context, ranges), newest] : [])) {
        try {
          const read = await verifyHour(context, network, hour, AbortSignal.timeout(rereadMs))
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

/** Any number of the ranges. */
function numberIn(context: AppContext, ranges: readonly Range[]): number {
  let at = randomBelow(
    context,
    ranges.reduce((sum, { from, until }) => sum + until - from, 0),
  )
  for (const { from, until } of ranges) {
    if (at < until - from) return from + at
    at -= until - from
  }
  throw new Error('a draw lies outside the ranges')
}

export const registryVerification: Verification = {
  name: 'validators’ public keys from a beacon node',
  todo: 'the node is on another chain, or the registry was filled from one; correct validators.networks',
  async run(context, count) {
    const own = networks.filter((network) => context.settings.validators.networks[network].beacon.urls.length > 0)
    if (own.length === 0) return nothingToVerify('no network has a beacon node')
    const items = await sampleOf(count, {
      first: async (limit) =>
        (await Promise.all(own.map((one) => findKnown(context, one, 0, limit)))).flat().slice(0, limit),
      any: async () => {
        const network = own[randomBelow(context, own.length)] as Network
        const last = await context.state.get<{ last: number | null }>(
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

const findKnown = async ({ state }: AppContext, network: Network, from: number, limit: number) => {
  const rows = await state.all<{ index: number }>(
    `select validator_index as "index" from validators where network = ? and validator_index >= ?
     order by validator_index limit ?`,
    ...[network, from, limit],
  )
  return rows.map(({ index }) => ({ network, index }))
}

async function comparePubkey(context: AppContext, network: Network, index: number): Promise<string | undefined> {
  const entry = await readValidator(context.state, network, index)
  const { urls, timeoutMs } = context.settings.validators.networks[network].beacon
  const path = `/eth/v1/beacon/states/finalized/validators/${index}`
  const reported = await openBeacon({ network, urls, timeoutMs, clock: context.clock })
    .request({ path }, (reply) => (reply.is === 'json' ? pubkeyOf(dataOf(reply.body)) : undefined))
    .catch((error: unknown) => {
      throw new SourceUnavailable(errorMessage(error))
    })
  const isSame = reported?.toLowerCase() === entry?.pubkey.toLowerCase()
  return isSame ? undefined : `${network} validator ${index}: stored ${entry?.pubkey}, the node shows ${reported}`
}

const pubkeyOf = (data: unknown): string | undefined => {
  const { validator } = (data ?? {}) as { validator?: { pubkey?: unknown } }
  return typeof validator?.pubkey === 'string' ? validator.pubkey : undefined
}
