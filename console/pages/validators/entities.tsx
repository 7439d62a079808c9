// The pools and operators of a network with their ratings: sortable, worst first, with a selection to compare.
import { useState } from 'preact/compat'
import type { InputOf, ReplyOf } from '#api/client.ts'
import type { Network } from '#api/wire/validators.ts'
import type { EntityKind, RatedEntity } from '#api/wire/validators-entities.ts'
import { Card } from '../../parts/card.tsx'
import { Choice, Tabs } from '../../parts/controls.tsx'
import { formatCount, gwei } from '../../parts/format.ts'
import { QueryResult } from '../../parts/query-result.tsx'
import { rangeOf } from '../../parts/spark-path.ts'
import { Sparkline } from '../../parts/sparkline.tsx'
import { Table } from '../../parts/table.tsx'
import { go, hrefOf } from '../../route.ts'
import { useEndpoint } from '../../use-endpoint.ts'
import { none, rating, share } from './figures.tsx'
import { entitiesMax } from './side-by-side.ts'

type Input = InputOf<'validators.entities'>
type Sort = NonNullable<Input['sort']>
export type Period = NonNullable<Input['period']>

export const periods = ['week', 'month', 'quarter'] as const satisfies readonly Period[]
export const periodLabels: Readonly<Record<(typeof periods)[number], string>> = {
  week: 'Last 7 days',
  month: 'Last 30 days',
  quarter: 'Last 90 days',
}

const perPage = 50
const kinds = ['pool', 'operator'] as const
const kindLabels: Readonly<Record<EntityKind, string>> = { pool: 'Pools', operator: 'Operators' }

/** Both kinds, one at a time. */
export function Entities({ network }: { readonly network: Network }) {
  const [kind, setKind] = useState<EntityKind>('pool')
  const kindTabs = <Tabs name="Kind of list" value={kind} options={kinds} labels={kindLabels} onChoose={setKind} />
  return <EntityList key={kind} title={kindLabels[kind]} network={network} kind={kind} aside={kindTabs} />
}

interface EntityListProps {
  readonly title: string
  readonly network: Network
  readonly kind: EntityKind
  /** Only entities whose name contains this text. */
  readonly q?: string
  readonly aside?: React.ReactNode
}

export function EntityList({ title, network, kind, q, aside }: EntityListProps) {
  const [period, setPeriod] = useState<(typeof periods)[number]>('month')
  const [sort, setSort] = useState<Sort>('validatorEffectiveness')
  const [isDescending, setDescending] = useState(false)
  const [offset, setOffset] = useState(0)
  const query = useEndpoint(
    'validators.entities',
    {
      network,
      kind,
      period,
      sort,
      limit: perPage,
      offset,
      sortOrder: isDescending ? 'desc' : 'asc',
      ...(q !== undefined && { q }),
    },
    { keepPrevious: true },
  )
  const sortBy = (column: string) => {
    const next = sortColumns[column] as Sort
    setDescending(next === sort ? !isDescending : next === 'validators')
    setSort(next)
    setOffset(0)
  }
  return (
    <Card id={`${kind}s`} title={title} aside={aside}>
      <div className="row view">
        <Choice label="Period" value={period} options={periods} labels={periodLabels} onChoose={setPeriod} />
      </div>
      <QueryResult of={query}>
        {({ reply }) => (
          <>
            <PeriodNote reply={reply} />
            {reply.total === 0 ? (
              <NoEntities network={network} kind={kind} />
            ) : (
              <EntityTable
                title={title}
                network={network}
                kind={kind}
                entities={reply.entities}
                sorting={{
                  columns: Object.keys(sortColumns),
                  by: Object.keys(sortColumns).find((column) => sortColumns[column] === sort) ?? '',
                  isDescending,
                  onSort: sortBy,
                }}
              />
            )}
            <Pager offset={offset} total={reply.total} onOffset={setOffset} />
          </>
        )}
      </QueryResult>
    </Card>
  )
}

const sortColumns: Readonly<Record<string, Sort>> = {
  Name: 'name',
  Validators: 'validators',
  Effectiveness: 'validatorEffectiveness',
  Uptime: 'uptime',
  'Earnings per day': 'earningsPerDay',
}

function PeriodNote({ reply }: { readonly reply: ReplyOf<'validators.entities'> }) {
  const { startDate, endDate, network } = reply
  if (startDate === null || endDate === null)
    return <p className="note">Ratings of pools and operators appear when the first chain day is over.</p>
  return (
    <p className="small soft">
      {startDate} to {endDate}. Network: effectiveness {rating(network.validatorEffectiveness)}, uptime{' '}
      {share(network.uptime)}. Percentile: the share of the network’s validators that are less effective than a
      validator of this row, mean of the days; 50 is average. Earnings are per validator.
    </p>
  )
}

const NoEntities = ({ network, kind }: { readonly network: Network; readonly kind: EntityKind }) => (
  <p className="note">
    No {kind}s are known on {network}. The operator of this server can import them with{' '}
    <code>tetrad import entities</code>. You can still search by index or public key. If nothing is found, this server
    does not read {network}: choose another network above.
  </p>
)

interface EntityTableProps {
  readonly title: string
  readonly network: Network
  readonly kind: EntityKind
  readonly entities: readonly RatedEntity[]
  readonly sorting: React.ComponentProps<typeof Table>['sorting'] & {}
}

function EntityTable({ title, network, kind, entities, sorting }: EntityTableProps) {
  const [selected, setSelected] = useState<readonly string[]>([])
  const toggle = (name: string) =>
    setSelected(selected.includes(name) ? selected.filter((other) => other !== name) : [...selected, name])
  const range = rangeOf(entities.map(({ history }) => history))
  const figures = ['Validators', 'Effectiveness', 'Percentile', 'Uptime', 'Earnings per day']
  return (
    <>
      <Table
        name={`${title}: table`}
        columns={['Compare', 'Name', ...figures, 'Effectiveness by day']}
        figures={figures}
        sorting={sorting}
      >
        {entities.map((entity) => (
          <tr key={entity.name}>
            <td>
              <input
                type="checkbox"
                aria-label={`Compare ${entity.name}`}
                checked={selected.includes(entity.name)}
                disabled={selected.length >= entitiesMax && !selected.includes(entity.name)}
                onChange={() => toggle(entity.name)}
              />
            </td>
            <td>
              <a href={hrefOf('validators', [], { network, q: entity.name })}>{entity.name}</a>
            </td>
            <td className="num">{entity.validators === null ? none : formatCount(entity.validators)}</td>
            <td className="num">{rating(entity.validatorEffectiveness)}</td>
            <td className="num">{percentile(entity.networkPercentile)}</td>
            <td className="num">{share(entity.uptime)}</td>
            <td className="num">
              {entity.earningsPerDay === null ? none : gwei(Math.round(entity.earningsPerDay), 5)}
            </td>
            <td>
              <Sparkline label={`Effectiveness of ${entity.name} by day`} values={entity.history} range={range} />
            </td>
          </tr>
        ))}
      </Table>
      <p className="row pages">
        <button
          type="button"
          className="main"
          disabled={selected.length < 2}
          onClick={() => go('validators', ['compare'], { network, [kind]: selected })}
        >
          {selected.length < 2 ? 'Select two to four to compare' : `Compare ${selected.length} ${kind}s`}
        </button>
      </p>
    </>
  )
}

export const percentile = (value: number | null | undefined): string => (value == null ? none : value.toFixed(0))

interface PagerProps {
  readonly offset: number
  readonly total: number
  readonly onOffset: (offset: number) => void
}

function Pager({ offset, total, onOffset }: PagerProps) {
  if (total <= perPage) return null
  return (
    <p className="row pages">
      <button type="button" disabled={offset === 0} onClick={() => onOffset(Math.max(0, offset - perPage))}>
        Previous page
      </button>
      <button type="button" disabled={offset + perPage >= total} onClick={() => onOffset(offset + perPage)}>
        Next page
      </button>
      <span className="soft">
        {formatCount(offset + 1)} to {formatCount(Math.min(total, offset + perPage))} of {formatCount(total)}
      </span>
    </p>
  )
}
