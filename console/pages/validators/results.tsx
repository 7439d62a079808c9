// Search results: validators page by page, with a selection for a comparison.
import { useState } from 'react'
import type { InputOf } from '#api/client.ts'
import type { Network } from '#api/wire/validators.ts'
import type { FoundValidator } from '#api/wire/validators-find.ts'
import { formatCount, shortenHex } from '../../parts/format.ts'
import { QueryResult } from '../../parts/query-result.tsx'
import { Table } from '../../parts/table.tsx'
import { go, hrefOf } from '../../route.ts'
import { useEndpoint } from '../../use-endpoint.ts'
import { comparedMax } from './side-by-side.ts'
import { StatusBadge } from './status-badge.tsx'

const perPage = 25

interface ValidatorResultsProps {
  readonly title: string
  readonly network: Network
  readonly query: Omit<InputOf<'validators.find'>, 'network'>
}

export function ValidatorResults({ title, network, query }: ValidatorResultsProps) {
  /** The last index of each previous page. */
  const [pageEnds, setPageEnds] = useState<readonly number[]>([])
  const after = pageEnds.at(-1)
  const [selected, setSelected] = useState<readonly number[]>([])
  const results = useEndpoint(
    'validators.find',
    { network, ...query, limit: perPage, ...(after !== undefined && { after }) },
    { keepPrevious: true },
  )
  const toggle = (index: number) =>
    setSelected(selected.includes(index) ? selected.filter((other) => other !== index) : [...selected, index])
  return (
    <QueryResult of={results} waiting="Searching…">
      {({ reply: { validators, pools, next } }) =>
        validators.length === 0 ? (
          <p className="note">
            {title}: no results on {network}. Names must match exactly. Check the spelling, or try another network.
          </p>
        ) : (
          <section className="card" aria-label={title}>
            <div className="spread">
              <h2>{title}</h2>
              {pools[0] && <span className="soft">{formatCount(pools[0].validators)} validators</span>}
            </div>
            <ResultTable
              title={title}
              validators={validators}
              network={network}
              selected={selected}
              onToggle={toggle}
            />
            <p className="row pages">
              <button
                type="button"
                className="main"
                disabled={selected.length === 0}
                onClick={() => go('validators', ['compare'], { network, of: selected.join() })}
              >
                {selected.length === 0 ? 'Select up to ten to compare' : `Compare ${selected.length} selected`}
              </button>
              {pageEnds.length > 0 && (
                <button type="button" onClick={() => setPageEnds(pageEnds.slice(0, -1))}>
                  Previous page
                </button>
              )}
              {next !== null && (
                <button
                  type="button"
                  onClick={() => setPageEnds([...pageEnds, validators.at(-1)?.validatorIndex ?? 0])}
                >
                  Next page
                </button>
              )}
            </p>
          </section>
        )
      }
    </QueryResult>
  )
}

interface ResultTableProps {
  readonly title: string
  readonly validators: readonly FoundValidator[]
  readonly network: Network
  readonly selected: readonly number[]
  readonly onToggle: (index: number) => void
}

function ResultTable({ title, validators, network, selected, onToggle }: ResultTableProps) {
  return (
    <Table name={`${title}: table`} columns={['Compare', 'Index', 'Status', 'Pool', 'Operators', 'Public key']}>
      {validators.map(({ validatorIndex, status, pool, nodeOperators, validatorPubkey }) => (
        <tr key={validatorIndex}>
          <td>
            <input
              type="checkbox"
              aria-label={`Compare ${validatorIndex}`}
              checked={selected.includes(validatorIndex)}
              disabled={selected.length >= comparedMax && !selected.includes(validatorIndex)}
              onChange={() => onToggle(validatorIndex)}
            />
          </td>
          <td>
            <a href={hrefOf('validators', [validatorIndex], { network })}>{validatorIndex}</a>
          </td>
          <td>
            <StatusBadge status={status} />
          </td>
          <td>{pool ?? <span className="soft">unknown</span>}</td>
          <td>{nodeOperators.join(', ')}</td>
          <td className="mono" title={validatorPubkey}>
            {shortenHex(validatorPubkey)}
          </td>
        </tr>
      ))}
    </Table>
  )
}
