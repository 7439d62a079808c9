// Extension: pools and node operators with their ratings (behaviour/validators.md#pools-and-operators). It reads daily
// summaries, so its cost does not grow with the number of validators.
import { extensions } from '#api/contract/extensions.ts'
import type { entitySorts, RatedEntity } from '#api/contract/wire/validators-entities.ts'
import { type ChainDay, chainDays } from '#core/chain-time.ts'
import { createHandler } from '#http/handler.ts'
import { chainTimeOf } from '../../requests/requested-epochs.ts'
import type { OperatorsContext } from './context.ts'
import { getEntityRatings } from './entity-ratings.ts'

export const entities = createHandler(extensions['validators.entities'], async (input, context: OperatorsContext) => {
  const { network, kind, period, q = '', sort, sortOrder, limit, offset } = input
  const { ratings, ...headers } = await getEntityRatings(context, network, kind, period)
  const { days, network: whole, entities: all } = ratings
  const calendar = chainDays(chainTimeOf(context.settings, network))
  const dateOf = (day: number) => new Date(calendar.dateOf(day as ChainDay) * dayMs).toISOString().slice(0, 10)
  const part = q.toLowerCase()
  const found = all.filter(({ name }) => name.toLowerCase().includes(part))
  return {
    is: 'body',
    body: {
      startDay: days?.from ?? null,
      endDay: days ? days.until - 1 : null,
      startDate: days ? dateOf(days.from) : null,
      endDate: days ? dateOf(days.until - 1) : null,
      network: whole,
      entities: sortEntities(found, sort, sortOrder).slice(offset, offset + limit),
      total: found.length,
    },
    ...headers,
  }
})

const dayMs = 86_400_000

/** Entities without a value are last in either order. Equal values are in order of names. */
function sortEntities(
  list: readonly RatedEntity[],
  sort: (typeof entitySorts)[number],
  order: 'asc' | 'desc',
): RatedEntity[] {
  const sign = order === 'asc' ? 1 : -1
  return list.toSorted((a, b) => {
    const [left, right] = [a[sort], b[sort]]
    if (left === right) return 0
    if (left === null || right === null) return left === null ? 1 : -1
    return left < right ? -sign : sign
  })
}
