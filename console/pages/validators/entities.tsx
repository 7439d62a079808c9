// The pools and operators of a network with their ratings: sortable, worst first, with a selection to compare.
import { useState } from 'preact/compat'
import type { InputOf, ReplyOf } from '#api/client/client.ts'
import type { Network } from '#api/contract/wire/validators.ts'
import type { EntityKind, RatedEntity } from '#api/contract/wire/validators-entities.ts'
import { Card } from '../../parts/card.tsx'
import { Tabs } from '../../parts/controls.tsx'
import { formatCount, formatDates, gwei } from '../../parts/format.ts'
import { Pager } from '../../parts/pager.tsx'
import { QueryResult } from '../../parts/query-result.tsx'
import { formatRating, Rating } from '../../parts/rating.tsx'
import { rangeOf } from '../../parts/spark-path.ts'
import { Sparkline } from '../../parts/sparkline.tsx'
import { type Sorting, Table } from '../../parts/table.tsx'
import { go, hrefOf } from '../../route.ts'
import { useEndpoint } from '../../use-endpoint.ts'
import { none, share } from './format-figures.ts'
import { SelectBox } from './select-box.tsx'
import { entitiesMax } from './side-by-side.ts'

type Input = InputOf<'validators.entities'>
type Sort = NonNullable<Input['sort']>
export type Period = NonNullable<Input['period']>

export const periods = ['week', 'month', 'quarter'] as const satisfies readonly Period[]
export const periodLabels: Readonly<Record<(typeof periods)[number], string>> = {
  week: '7 days',
  month: '30 days',
  quarter: '90 days',
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
    <Card
      id={`${kind}s`}
      title={title}
      aside={
        <div className="row">
          <Tabs name="Period" value={period} options={periods} labels={periodLabels} onChoose={setPeriod} />
          {aside}
        </div>
      }
    >
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
            <Pager
              onPrevious={offset > 0 ? () => setOffset(Math.max(0, offset - perPage)) : undefined}
              onNext={offset + perPage < reply.total ? () => setOffset(offset + perPage) : undefined}
            >
              {reply.total > perPage && (
                <span className="soft">
                  {formatCount(offset + 1)} to {formatCount(Math.min(reply.total, offset + perPage))} of{' '}
                  {formatCount(reply.total)}
                </span>
              )}
            </Pager>
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
      {formatDates(startDate, endDate)}. Whole network: effectiveness {formatRating(network.validatorEffectiveness)},
      uptime {share(network.uptime)}.
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

interface EntityTableProps extends Pick<EntityListProps, 'title' | 'network' | 'kind'> {
  readonly entities: readonly RatedEntity[]
  readonly sorting: Sorting
}

function EntityTable({ title, network, kind, entities, sorting }: EntityTableProps) {
  const [selected, setSelected] = useState<readonly string[]>([])
  const range = rangeOf(entities.map(({ history }) => history))
  return (
    <>
      <Table
        name={`${title}: table`}
        className="stacked several"
        rows={entities}
        sorting={sorting}
        columns={[
          [
            'Name',
            ({ name }) => (
              <>
                <SelectBox {...{ name, selected, onSelect: setSelected, max: entitiesMax }} />{' '}
                <a href={hrefOf('validators', [], { network, q: name })}>{name}</a>
              </>
            ),
          ],
          ['Effectiveness', ({ validatorEffectiveness }) => <Rating value={validatorEffectiveness} />, 'num'],
          [
            'By day',
            ({ name, history }) => (
              <Sparkline label={`Effectiveness of ${name} by day`} values={history} range={range} />
            ),
            'extra',
          ],
          ['Percentile', ({ networkPercentile }) => percentile(networkPercentile), 'num'],
          ['Uptime', ({ uptime }) => share(uptime), 'num'],
          [
            'Earnings per day',
            ({ earningsPerDay }) => (earningsPerDay === null ? none : gwei(Math.round(earningsPerDay), 5)),
            'num',
          ],
          ['Validators', ({ validators }) => (validators === null ? none : formatCount(validators)), 'num'],
        ]}
      />
      <p className="small soft wide">
        Percentile: the percentage of the network’s validators that are less effective, mean of the days; 50 is average.
        Earnings are per validator.
      </p>
      <p className="row pager">
        <button
          type="button"
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
