// Validators that were found, page by page, to look at or to choose from for a comparison.
import { useState } from 'react'
import type { InputOf } from '#api/client.ts'
import type { Network } from '#api/wire/validators.ts'
import type { FoundValidator } from '#api/wire/validators-find.ts'
import { useEndpoint } from '../../calls.ts'
import { Columns } from '../../parts/columns.tsx'
import { formatCount, shortenHex } from '../../parts/format.ts'
import { QueryResult } from '../../parts/query-result.tsx'
import { Scroll } from '../../parts/scroll.tsx'
import { go, hrefOf } from '../../route.ts'
import { comparedMax } from './side-by-side.ts'
import { StatusBadge } from './status-badge.tsx'

const perPage = 25

interface ValidatorResultsProps {
  readonly title: string
  readonly network: Network
  readonly query: Omit<InputOf<'validators.find'>, 'network'>
}

export function ValidatorResults({ title, network, query }: ValidatorResultsProps) {
  /** Where each page before this one ended. */
  const [ends, setEnds] = useState<readonly number[]>([])
  const after = ends.at(-1)
  const [chosen, setChosen] = useState<readonly number[]>([])
  const found = useEndpoint(
    'validators.find',
    { network, ...query, limit: perPage, ...(after !== undefined && { after }) },
    { keepPrevious: true },
  )
  const choose = (index: number) =>
    setChosen(chosen.includes(index) ? chosen.filter((one) => one !== index) : [...chosen, index])
  return (
    <QueryResult of={found} waiting="Looking…">
      {({ reply: { validators, pools, next } }) =>
        validators.length === 0 ? (
          <p className="note">
            {title}: none on {network}. Names count letter by letter; another network may have it.
          </p>
        ) : (
          <section className="card" aria-label={title}>
            <div className="spread">
              <h2>{title}</h2>
              {pools[0] && <span className="soft">{formatCount(pools[0].validators)} validators</span>}
            </div>
            <Listed title={title} validators={validators} network={network} chosen={chosen} onChoose={choose} />
            <p className="row pages">
              <button
                type="button"
                className="main"
                disabled={chosen.length === 0}
                onClick={() => go('validators', ['compare'], { network, of: chosen.join() })}
              >
                {chosen.length === 0 ? 'Choose up to ten to compare' : `Compare ${chosen.length} chosen`}
              </button>
              {ends.length > 0 && (
                <button type="button" onClick={() => setEnds(ends.slice(0, -1))}>
                  Page before
                </button>
              )}
              {next !== null && (
                <button type="button" onClick={() => setEnds([...ends, validators.at(-1)?.validatorIndex ?? 0])}>
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

interface ListedProps {
  readonly title: string
  readonly validators: readonly FoundValidator[]
  readonly network: Network
  readonly chosen: readonly number[]
  readonly onChoose: (index: number) => void
}

function Listed({ title, validators, network, chosen, onChoose }: ListedProps) {
  return (
    <Scroll name={`${title}: the validators`}>
      <table>
        <Columns of={['Compare', 'Index', 'Standing', 'Pool', 'Operators', 'Public key']} />
        <tbody>
          {validators.map((one) => (
            <tr key={one.validatorIndex}>
              <td>
                <input
                  type="checkbox"
                  aria-label={`Compare ${one.validatorIndex}`}
                  checked={chosen.includes(one.validatorIndex)}
                  disabled={chosen.length >= comparedMax && !chosen.includes(one.validatorIndex)}
                  onChange={() => onChoose(one.validatorIndex)}
                />
              </td>
              <td>
                <a href={hrefOf('validators', [one.validatorIndex], { network })}>{one.validatorIndex}</a>
              </td>
              <td>
                <StatusBadge standing={one.status} />
              </td>
              <td>{one.pool ?? <span className="soft">not known</span>}</td>
              <td>{one.nodeOperators.join(', ')}</td>
              <td className="mono" title={one.validatorPubkey}>
                {shortenHex(one.validatorPubkey)}
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </Scroll>
  )
}
