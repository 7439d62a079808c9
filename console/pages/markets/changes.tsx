// The changes of a market as a list to read: when, which field, from what to what.
import { useState } from 'react'
import type { MarketChange } from '#api/wire/market-changes.ts'
import { formatCount, formatTime } from '../../parts/format.ts'
import { isVisibleChange, stamp } from './history.ts'
import { hrefWith } from './market-href.ts'
import { spelled } from './market-values.ts'
import { formatValue } from './values.ts'

interface ChangesProps {
  readonly slug: string
  readonly changes: readonly MarketChange[]
  readonly query: URLSearchParams
  /** Undefined when all that is kept is here. */
  readonly onOlder: (() => void) | undefined
  readonly busy: boolean
}

const rowsStep = 25

export function Changes({ slug, changes: all, query, onOlder, busy }: ChangesProps) {
  const changes = all.filter(isVisibleChange)
  const asOf = query.get('asOf')
  const [rows, setRows] = useState(rowsStep)
  const rest = changes.length - rows
  // The newest that had happened by then; times are compared as such, for they may be written in many ways.
  const shown = asOf === null ? -1 : changes.findIndex(({ at }) => Date.parse(at) <= Date.parse(asOf))
  return (
    <section className="card" aria-labelledby="changes-title">
      <div className="spread">
        <h2 id="changes-title">What changed</h2>
        <label className="small">
          <input
            type="checkbox"
            checked={query.get('related') === '1'}
            onChange={({ target }) => {
              window.location.assign(hrefWith(slug, query, { related: target.checked ? '1' : undefined }))
            }}
          />{' '}
          also its event, series and tags
        </label>
      </div>
      {changes.length === 0 ? (
        <p className="note">Nothing has changed in the time that is kept here.</p>
      ) : (
        <ol className="changes">
          {changes.slice(0, rows).map((change, index) => (
            <OneChange
              key={change.cursor}
              change={change}
              href={hrefWith(slug, query, { asOf: change.at })}
              shown={index === shown}
            />
          ))}
        </ol>
      )}
      <p className="row">
        {rest > 0 && (
          <button type="button" onClick={() => setRows(rows + 4 * rowsStep)}>
            Show more of {formatCount(rest)}
          </button>
        )}
        {rest <= 0 && onOlder && (
          <button type="button" disabled={busy} onClick={onOlder}>
            {busy ? 'Reading…' : 'Further back'}
          </button>
        )}
        {rest <= 0 && !onOlder && changes.length > 0 && (
          <span className="soft small">This is all that is kept here.</span>
        )}
        {changes.length < all.length && (
          <span className="soft small">
            {formatCount(all.length - changes.length)} more renewed only the source’s own time stamp.
          </span>
        )}
      </p>
    </section>
  )
}

const changeLabels: Readonly<Record<MarketChange['change'], string>> = {
  created: 'first seen here',
  changed: '',
  vanished: 'no feed shows it any more',
  returned: 'a feed shows it again',
}

interface OneChangeProps {
  readonly change: MarketChange
  /** The market as it was then. */
  readonly href: string
  /** Stands as the last one at the time that is looked at. */
  readonly shown: boolean
}

function OneChange({ change: { at, kind, id, slug, change, fields }, href, shown }: OneChangeProps) {
  const visibleFields = fields.filter(({ field }) => field !== stamp)
  return (
    <li className={shown ? 'shown' : undefined}>
      <a className="when" href={href} title="The market as it was then">
        {formatTime(at)}
      </a>
      <div>
        {kind !== 'market' && (
          <span className="badge">
            {kind} {slug || id}
          </span>
        )}
        {shown && <span className="badge warn">shown above</span>}
        {changeLabels[change]}
        <div className="fields">
          {visibleFields.map(({ field, before, after }) => (
            <span key={field}>
              <span className="soft">{spelled(field)}</span> {formatValue(before)} →{' '}
              <strong>{formatValue(after)}</strong>
            </span>
          ))}
        </div>
      </div>
    </li>
  )
}
