// The list of changes of a market: time, field, old and new value.
import { useState } from 'preact/compat'
import type { MarketChange } from '#api/contract/wire/market-changes.ts'
import { Card } from '../../parts/card.tsx'
import { formatCount, formatTime } from '../../parts/format.ts'
import { navigate } from '../../route.ts'
import { isVisibleChange, timeStampField } from './history.ts'
import { hrefWith, type MarketAddress } from './market-href.ts'
import { fieldLabel, isDerived } from './market-values.ts'
import { formatChange } from './values.ts'

interface ChangesProps extends MarketAddress {
  readonly changes: readonly MarketChange[]
  /** Loads older changes; undefined if there are none. */
  readonly onOlder: (() => void) | undefined
  readonly isLoading: boolean
}

const rowsStep = 25

export function Changes({ slug, changes: allChanges, query, onOlder, isLoading }: ChangesProps) {
  const changes = allChanges.filter(isVisibleChange)
  const asOf = query.get('asOf')
  const [rows, setRows] = useState(rowsStep)
  const hiddenCount = changes.length - rows
  // The newest change up to `asOf`. Compare times, not texts: a time has several ISO 8601 forms.
  const shownIndex = asOf === null ? -1 : changes.findIndex(({ at }) => Date.parse(at) <= Date.parse(asOf))
  return (
    <Card
      id="changes-title"
      title="Changes"
      aside={
        <label className="small">
          <input
            type="checkbox"
            checked={query.get('related') === '1'}
            onChange={({ currentTarget }) => {
              navigate(hrefWith(slug, query, { related: currentTarget.checked ? '1' : undefined }))
            }}
          />{' '}
          Include event, series and tags
        </label>
      }
    >
      {changes.length === 0 ? (
        <p className="note">No changes are stored for this market.</p>
      ) : (
        <ol className="changes">
          {changes.slice(0, rows).map((change, index) => (
            <Change
              key={change.cursor}
              change={change}
              href={hrefWith(slug, query, { asOf: change.at })}
              isShown={index === shownIndex}
            />
          ))}
        </ol>
      )}
      <p className="row">
        {hiddenCount > 0 && (
          <button type="button" onClick={() => setRows(rows + 4 * rowsStep)}>
            Show more ({formatCount(hiddenCount)} left)
          </button>
        )}
        {hiddenCount <= 0 && onOlder && (
          <button type="button" disabled={isLoading} onClick={onOlder}>
            {isLoading ? 'Loading…' : 'Load older changes'}
          </button>
        )}
        {hiddenCount <= 0 && !onOlder && changes.length > 0 && (
          <span className="soft small">No older changes are stored.</span>
        )}
        {changes.length < allChanges.length && (
          <span className="soft small">
            Not shown: {formatCount(allChanges.length - changes.length)} changes of the source’s time stamp only.
          </span>
        )}
      </p>
    </Card>
  )
}

const changeLabels: Readonly<Record<MarketChange['change'], string>> = {
  created: 'first seen',
  changed: '',
  vanished: 'delisted',
  returned: 'listed again',
}

interface ChangeProps {
  readonly change: MarketChange
  /** Shows the market at that time. */
  readonly href: string
  /** The page shows the market as of this change. */
  readonly isShown: boolean
}

function Change({ change: { at, kind, id, slug, change, fields }, href, isShown }: ChangeProps) {
  const visibleFields = fields.filter(({ field }) => field !== timeStampField)
  const derivedFields = visibleFields.filter(({ field }) => isDerived(field))
  return (
    <li className={isShown ? 'shown' : undefined}>
      <a className="when" href={href} title="Show the market at this time">
        {formatTime(at)}
      </a>
      <div>
        {kind !== 'market' && (
          <span className="badge">
            {kind} {slug || id}
          </span>
        )}
        {isShown && <span className="badge warn">shown above</span>}
        {changeLabels[change]}
        <FieldChanges fields={visibleFields.filter(({ field }) => !isDerived(field))} />
        {derivedFields.length > 0 && (
          <details>
            <summary>
              {derivedFields.length} derived {derivedFields.length === 1 ? 'figure' : 'figures'}
            </summary>
            <FieldChanges fields={derivedFields} />
          </details>
        )}
      </div>
    </li>
  )
}

const FieldChanges = ({ fields }: Pick<MarketChange, 'fields'>) => (
  <div className="fields">
    {fields.map(({ field, before, after }) => {
      const [old, current] = formatChange(before, after)
      return (
        <span key={field}>
          <span className="soft">{fieldLabel(field)}</span> {old} → <strong>{current}</strong>
        </span>
      )
    })}
  </div>
)
