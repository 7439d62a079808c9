// What names a field of the entity of a validator, since when, and what it was before.
import type { Network } from '#api/contract/wire/validators.ts'
import type { EntityFieldName, EntityPeriod, ExplainedEntity } from '#shared/console-calls.ts'
import { describeEvidence } from '#shared/describe-evidence.ts'
import { callConsole } from '../../operator.ts'
import { formatCount } from '../../parts/format.ts'
import { useCalls } from '../../use-endpoint.ts'

const fetchEntity = (network: Network, index: number, key: string): Promise<ExplainedEntity> =>
  callConsole('GET', `validators/${encodeURIComponent(network)}/${index}/entity`, undefined, key)

/** Undefined while it is loading, or if it cannot be read: the page works without it. */
export function useExplainedEntity(network: Network, index: number): ExplainedEntity | undefined {
  return useCalls(['validator entity', network, String(index)], ({ key }) => fetchEntity(network, index, key)).data
}

const shownMax = 3

interface EntitySourceProps {
  readonly entity: ExplainedEntity | undefined
  readonly field: EntityFieldName
}

export function EntitySource({ entity, field }: EntitySourceProps) {
  const periods = entity?.periods[field] ?? []
  if (periods.length === 0) return null
  return (
    <div className="small soft">
      {periods.slice(0, shownMax).map((period) => (
        <div key={period.fromDay}>{period.untilDay === null ? presentText(period) : pastText(period)}</div>
      ))}
    </div>
  )
}

const presentText = (period: EntityPeriod): string =>
  `since day ${formatCount(period.fromDay)}, ${describeEvidence(period)}`

const pastText = ({ name, operators, fromDay, untilDay }: EntityPeriod): string =>
  `${[name ?? '', operators.join(', ')].filter((text) => text !== '').join(': ')}: day ${formatCount(fromDay)} to ${formatCount((untilDay ?? 0) - 1)}`
