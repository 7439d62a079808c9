// Search results: validators with their figures of a period, sortable, with a selection for a comparison.
import { useState } from 'preact/compat'
import type { Network } from '#api/contract/wire/validators.ts'
import { Choice } from '../../parts/controls.tsx'
import { formatCount, gwei } from '../../parts/format.ts'
import { Pager } from '../../parts/pager.tsx'
import { QueryResult } from '../../parts/query-result.tsx'
import { Rating } from '../../parts/rating.tsx'
import { rangeOf } from '../../parts/spark-path.ts'
import { Sparkline } from '../../parts/sparkline.tsx'
import { type Sorting, Table } from '../../parts/table.tsx'
import { go, hrefOf } from '../../route.ts'
import { percentile, periodLabels, periods } from './entities.tsx'
import { none, share } from './format-figures.ts'
import { batchSize, type MemberBatch, type MemberQuery, useDailyFigures, useRatedMembers } from './rated-members.ts'
import { SelectBox } from './select-box.tsx'
import { comparedMax } from './side-by-side.ts'
import { type MemberSort, sortMembers } from './sort-members.ts'
import { StatusBadge } from './status-badge.tsx'

const perPage = 25

interface ValidatorResultsProps {
  readonly title: string
  readonly network: Network
  readonly query: MemberQuery
}

export function ValidatorResults({ title, network, query }: ValidatorResultsProps) {
  /** The last index of each previous batch. */
  const [batchEnds, setBatchEnds] = useState<readonly number[]>([])
  const [period, setPeriod] = useState<(typeof periods)[number]>('month')
  const results = useRatedMembers(network, query, period, batchEnds.at(-1))
  return (
    <QueryResult of={results} waiting="Searching…">
      {(batch) =>
        batch.members.length === 0 ? (
          <p className="note">
            {title}: no results on {network}. Check the spelling, or try another network.
          </p>
        ) : (
          <section className="card" aria-label={title}>
            <div className="spread">
              <h2>{title}</h2>
              {batch.total !== undefined && <span className="soft">{formatCount(batch.total)} validators</span>}
            </div>
            <div className="row view">
              <Choice label="Period" value={period} options={periods} labels={periodLabels} onChoose={setPeriod} />
            </div>
            {(batch.hasMore || batchEnds.length > 0) && (
              <p className="note">
                The list shows {formatCount(batchSize)} validators at a time, in order of their index. Only these are
                sorted.{' '}
                {batchEnds.length > 0 && (
                  <button type="button" onClick={() => setBatchEnds(batchEnds.slice(0, -1))}>
                    Previous {formatCount(batchSize)}
                  </button>
                )}{' '}
                {batch.hasMore && (
                  <button
                    type="button"
                    onClick={() => setBatchEnds([...batchEnds, batch.members.at(-1)?.validatorIndex ?? 0])}
                  >
                    Next {formatCount(batchSize)}
                  </button>
                )}
              </p>
            )}
            <Members key={batchEnds.length} title={title} network={network} batch={batch} />
          </section>
        )
      }
    </QueryResult>
  )
}

interface MembersProps {
  readonly title: string
  readonly network: Network
  readonly batch: MemberBatch
}

const sortColumns: Readonly<Record<string, MemberSort>> = {
  Index: 'validatorIndex',
  Effectiveness: 'effectiveness',
  Uptime: 'uptime',
  Earnings: 'earnings',
}

function Members({ title, network, batch }: MembersProps) {
  const [sort, setSort] = useState<MemberSort>('effectiveness')
  const [isDescending, setDescending] = useState(false)
  const [page, setPage] = useState(0)
  const [selected, setSelected] = useState<readonly number[]>([])
  const { length } = batch.members
  const shown = sortMembers(batch.members, sort, isDescending).slice(page * perPage, (page + 1) * perPage)
  const indices = shown.map(({ validatorIndex }) => validatorIndex)
  const daily = useDailyFigures(network, indices, batch)
  const range = rangeOf([...(daily.data?.values() ?? [])].map(({ values }) => values))
  const sorting: Sorting = {
    columns: Object.keys(sortColumns),
    by: Object.keys(sortColumns).find((column) => sortColumns[column] === sort) ?? '',
    isDescending,
    onSort: (column) => {
      setDescending(sortColumns[column] === sort && !isDescending)
      setSort(sortColumns[column] as MemberSort)
      setPage(0)
    },
  }
  return (
    <>
      <Table
        name={`${title}: table`}
        className="stacked many"
        rows={shown}
        sorting={sorting}
        columns={[
          [
            'Index',
            ({ validatorIndex: name, validatorPubkey }) => (
              <>
                <SelectBox {...{ name, selected, onSelect: setSelected, max: comparedMax }} />{' '}
                <a href={hrefOf('validators', [name], { network })} title={validatorPubkey}>
                  {name}
                </a>
              </>
            ),
            'nowrap',
          ],
          ['Status', ({ status }) => <StatusBadge status={status} />],
          ['Pool', ({ pool }) => pool ?? <span className="soft">unknown</span>],
          ['Operators', ({ nodeOperators }) => nodeOperators.join(', ')],
          ['Effectiveness', ({ effectiveness }) => <Rating value={effectiveness} />, 'num'],
          ['Percentile', ({ validatorIndex }) => percentile(daily.data?.get(validatorIndex)?.percentile), 'num'],
          ['Uptime', ({ uptime }) => share(uptime), 'num'],
          ['Earnings', ({ earnings }) => (earnings === null ? none : gwei(earnings, 5)), 'num'],
          [
            'Effectiveness by day',
            ({ validatorIndex }) => (
              <Sparkline
                label={`Effectiveness of validator ${validatorIndex} by day`}
                values={daily.data?.get(validatorIndex)?.values ?? []}
                range={range}
              />
            ),
            'extra',
          ],
        ]}
      />
      <Pager
        onPrevious={page > 0 ? () => setPage(page - 1) : undefined}
        onNext={(page + 1) * perPage < length ? () => setPage(page + 1) : undefined}
      >
        <button
          type="button"
          className="main"
          disabled={selected.length === 0}
          onClick={() => go('validators', ['compare'], { network, of: selected.join() })}
        >
          {selected.length === 0 ? 'Select up to ten to compare' : `Compare ${selected.length} selected`}
        </button>
      </Pager>
    </>
  )
}
