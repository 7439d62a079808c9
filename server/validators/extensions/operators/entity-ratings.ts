// The ratings of all pools or all operators of a network over the last days (behaviour/validators.md#pools-and-operators).

import type { Network } from '#api/contract/wire/validators.ts'
import {
  type EntityKind,
  entityRatios,
  entitySums,
  type Period,
  periodDays,
  type RatedEntity,
} from '#api/contract/wire/validators-entities.ts'
import { type ChainDay, chainDays } from '#core/chain-time.ts'
import type { Range } from '#core/ranges.ts'
import { recordFrom } from '#core/record-from.ts'
import type { Confidence } from '#http/handler.ts'
import type { StateReader } from '#storage/state.ts'
import type { ValidatorsContext } from '../../context.ts'
import { percentiles } from '../../duties/daily-summaries.ts'
import { networkId } from '../../duties/layout.ts'
import type { SummarySums } from '../../duties/sum-summaries.ts'
import { entitiesVersion } from '../../entities/memberships.ts'
import { aggregateFigures, type Figure, figures, methodHeaders } from '../../method/method.ts'
import { getRowCoverage } from '../../requests/coverage.ts'
import { valuesOf } from '../../requests/records.ts'
import { chainTimeOf, toConfidence } from '../../requests/requested-epochs.ts'
import type { OperatorsContext } from './context.ts'

type EntityFigures = Omit<RatedEntity, 'name' | 'networkPercentile'>

export interface EntityRatings {
  /** Undefined: no day has a summary yet. */
  readonly days: Range | undefined
  readonly network: EntityFigures & {
    readonly percentiles: number[]
    readonly distribution: (number[] | null)[]
  }
  /** All entities, by name. */
  readonly entities: readonly RatedEntity[]
}

/** Ratings, and the headers of a response with them. */
export async function getEntityRatings(
  context: OperatorsContext,
  network: Network,
  kind: EntityKind,
  period: Period,
): Promise<{ readonly ratings: EntityRatings } & ResponseHeaders> {
  const time = chainTimeOf(context.settings, network)
  const { covered } = await getRowCoverage(context, network, time)
  const version = await entitiesVersion(context.ingest, network)
  const ratings = await context.operators.entityRatings(context.duties, `${network} ${kind} ${period} ${version}`, () =>
    readEntityRatings(context, network, kind, period),
  )
  const firstEpoch = (day = 0) => chainDays(time).epochsOf(day as ChainDay).from
  const { days } = ratings
  const confidence = toConfidence(covered, { from: firstEpoch(days?.from), until: firstEpoch(days?.until) })
  return { ratings, confidence, headers: methodHeaders }
}

export interface ResponseHeaders {
  readonly confidence: Confidence
  readonly headers: typeof methodHeaders
}

async function readEntityRatings(
  { ingest, duties }: ValidatorsContext,
  network: Network,
  kind: EntityKind,
  period: Period,
): Promise<EntityRatings> {
  const names = await listNames(ingest, network, kind)
  const newest = await duties.get<{ day: number | null }>(
    'select max(day) as day from duty_summary_days where network = ?',
    networkId(network),
  )
  const last = newest?.day ?? undefined
  const days = last === undefined ? undefined : { from: Math.max(0, last + 1 - periodDays[period]), until: last + 1 }
  const query = { network, days: days ?? { from: 0, until: 0 } }
  const summed = await duties.query('sumSummaries', { ...query, kind, names })
  const [networkFigures] = toFigures(summed.network) as [EntityFigures]
  const { sums, counts } = summed.entities.percentile
  return {
    days,
    network: {
      ...networkFigures,
      percentiles: [...percentiles],
      distribution: summed.distribution.map((scores) => scores?.map(rounded) ?? null),
    },
    entities: toFigures(summed.entities).map((entity, at) => ({
      name: names[at] as string,
      ...entity,
      networkPercentile: orNull(rounded((sums[at] as number) / (counts[at] as number))),
    })),
  }
}

/** In order of names. */
async function listNames(state: StateReader, network: Network, kind: EntityKind): Promise<string[]> {
  const sql = kind === 'pool' ? 'select pool as name from validator_pools where network = ?' : operatorNames
  const rows = await state.all<{ name: string }>(sql, ...(kind === 'pool' ? [network] : [network, network]))
  return rows.map(({ name }) => name).sort()
}

/** Seeks one name after the other: `distinct` would read the rows of all validators. */
const operatorNames = `with recursive names (name) as (
    select min(operator) from validator_operators where network = ?
    union all
    select (select min(operator) from validator_operators where network = ? and operator > name)
    from names where name is not null
  ) select name from names where name is not null`

const figureNames = [...entityRatios, ...entitySums] as const
const entityFigures = {
  ...recordFrom(entityRatios, (name): Figure => figures[name]),
  ...recordFrom(entitySums, (name): Figure => aggregateFigures[name]),
}

function toFigures(summed: SummarySums): EntityFigures[] {
  const values = valuesOf(summed)
  const columns = recordFrom(figureNames, (name) => entityFigures[name].of(values))
  return summed.history.map((history, at) => {
    const validatorDays = summed.validatorDays[at] as number
    const isKnown = validatorDays > 0
    return {
      ...recordFrom(figureNames, (name) => (isKnown ? orNull(columns[name][at] as number) : null)),
      validators: isKnown ? (summed.validators[at] as number) : null,
      earningsPerDay: isKnown ? rounded((summed.sums.earnings[at] as number) / validatorDays) : null,
      history: Array.from(history, (score) => orNull(rounded(score))),
    }
  })
}

const orNull = (value: number): number | null => (Number.isNaN(value) ? null : value)
/** Summaries have eight decimals. */
const rounded = (value: number): number => Math.round(value * 1e6) / 1e6
