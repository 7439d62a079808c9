// Keys: made, shown once, changed, revoked, and what they were used for. Only for the operator.
import { keepPreviousData, useQuery, useQueryClient } from '@tanstack/react-query'
import { type FormEvent, useState } from 'react'
import type { KeyView } from '#api/console.ts'
import { operator } from '../operator.ts'
import { Columns } from '../parts/columns.tsx'
import { formatCount, formatTime } from '../parts/format.ts'
import { Failure, QueryResult } from '../parts/query-result.tsx'
import { Scroll } from '../parts/scroll.tsx'
import { go, hrefOf, type PageRoute } from '../route.ts'
import { useConsoleContext } from '../session.tsx'
import { EditKey } from './keys/edit-key.tsx'
import { NewKey } from './keys/new-key.tsx'
import { ShownOnce } from './keys/shown-once.tsx'
import { Usage } from './keys/usage.tsx'

export function Keys({ place }: { readonly place: PageRoute }) {
  const { session, known } = useConsoleContext()
  const [chosen] = place.parts
  return (
    <>
      <h1>Keys</h1>
      <p className="lead">Who may call, how often, and what for.</p>
      {known && !session.signedIn && (
        <div className="note warn">
          Keys are the operator's. Sign in with the link that is printed when the server starts in a terminal, or by{' '}
          <code>tetrad console link</code>.
        </div>
      )}
      {session.signedIn &&
        (chosen === undefined ? (
          <All search={place.query.get('q')?.trim() ?? ''} page={pageIn(place.query)} />
        ) : (
          <Usage key={chosen} id={chosen} />
        ))}
    </>
  )
}

const pageIn = (query: URLSearchParams): number => Math.max(1, Math.floor(Number(query.get('page')) || 1))

interface AllProps {
  readonly search: string
  readonly page: number
}

function All({ search: words, page }: AllProps) {
  const queries = useQueryClient()
  const keys = useQuery({
    queryKey: ['keys', words, page],
    queryFn: () => operator.keys(words, page),
    placeholderData: keepPreviousData,
  })
  const [editing, setEditing] = useState<KeyView>()
  const again = () => queries.invalidateQueries({ queryKey: ['keys'] })
  const edited = () => {
    setEditing(undefined)
    void again()
  }
  return (
    <>
      {editing ? <EditKey key={editing.id} of={editing} done={edited} /> : <NewKey made={again} />}
      <section className="card" aria-labelledby="all-keys">
        <h2 id="all-keys">All keys</h2>
        <FindKey key={words} asked={words} />
        <QueryResult of={keys}>
          {({ keys: found, total, pageSize }) => (
            <>
              {found.length > 0 && <KeyTable keys={found} changed={again} edit={setEditing} />}
              <Pager search={words} page={page} pages={Math.ceil(total / pageSize)} total={total} />
            </>
          )}
        </QueryResult>
        <p className="soft small">
          Calls without a key are counted too: <a href={hrefOf('keys', ['anonymous'])}>their usage</a>.
        </p>
      </section>
      <Plans />
    </>
  )
}

function FindKey({ asked: initialText }: { readonly asked: string }) {
  const [text, setText] = useState(initialText)
  const submit = (event: FormEvent) => {
    event.preventDefault()
    go('keys', [], { q: text.trim() })
  }
  return (
    <form className="row finder" onSubmit={submit}>
      <label className="field wide">
        Part of a name or an id
        <input
          type="search"
          autoComplete="off"
          maxLength={100}
          value={text}
          onChange={({ target }) => setText(target.value)}
        />
      </label>
      <button type="submit">Search</button>
    </form>
  )
}

interface PagerProps extends AllProps {
  readonly pages: number
  readonly total: number
}

function Pager({ search: words, page, pages, total }: PagerProps) {
  const show = (other: number) => go('keys', [], { q: words, page: other === 1 ? undefined : other })
  return (
    <div className="row pager">
      {(pages > 1 || page > 1) && (
        <>
          <button type="button" disabled={page <= 1} onClick={() => show(Math.min(page - 1, Math.max(1, pages)))}>
            Newer
          </button>
          <button type="button" disabled={page >= pages} onClick={() => show(page + 1)}>
            Older
          </button>
        </>
      )}
      <span className="soft" role="status">
        {total === 0
          ? words === ''
            ? 'There is no key yet.'
            : 'No key has these words in its name or id.'
          : `Page ${page} of ${pages}, ${formatCount(total)} ${total === 1 ? 'key' : 'keys'}`}
      </span>
    </div>
  )
}

interface TableProps {
  readonly keys: readonly KeyView[]
  changed(): void
  edit(key: KeyView): void
}

function KeyTable({ keys, changed, edit }: TableProps) {
  const [fresh, setFresh] = useState('')
  const [error, setError] = useState<unknown>()
  /** A change that is asked about first. */
  const change = async (question: string, make: () => Promise<unknown>) => {
    if (!window.confirm(question)) return
    setError(undefined)
    await make().catch(setError)
    changed()
  }
  const revoke = ({ id, name }: KeyView) =>
    change(`Revoke ${name} (${id})? Callers that use it are refused from now on.`, () => operator.revokeKey(id))
  const rotate = ({ id, name, state }: KeyView) => {
    const restore = state === 'revoked'
    const message = restore
      ? 'It was revoked; with the new secret it works again.'
      : 'The old one is refused from now on.'
    return change(`A new secret for ${name} (${id})? ${message}`, async () =>
      setFresh((await operator.rotateKey(id, { restore })).key),
    )
  }
  return (
    <>
      {error !== undefined && <Failure error={error} />}
      {fresh !== '' && <ShownOnce text={fresh} />}
      <KeyRows keys={keys} actions={{ Edit: edit, 'New secret': rotate, Revoke: revoke }} />
    </>
  )
}

type KeyAction = 'Edit' | 'New secret' | 'Revoke'

const actionsByState: Readonly<Record<KeyView['state'], readonly KeyAction[]>> = {
  active: ['Edit', 'New secret', 'Revoke'],
  revoked: ['Edit', 'New secret'],
  expired: ['Edit'],
}

interface RowsProps {
  readonly keys: readonly KeyView[]
  readonly actions: Readonly<Record<KeyAction, (key: KeyView) => unknown>>
}

function KeyRows({ keys, actions: acts }: RowsProps) {
  return (
    <Scroll name="Keys and what they may do">
      <table>
        <Columns of={['Name', 'Plan', 'Interfaces', 'State', 'Last used', 'Expires']}>
          <th scope="col">
            <span className="unseen">Actions</span>
          </th>
        </Columns>
        <tbody>
          {keys.map((key) => (
            <tr key={key.id}>
              <td>
                <a href={hrefOf('keys', [key.id])}>{key.name}</a> <span className="soft mono">{key.id}</span>
              </td>
              <td>{key.plan}</td>
              <td className="small">
                {key.groups.join(', ')}
                {key.admin && <span className="badge warn">admin</span>}
              </td>
              <td>
                <span className={`badge ${key.state === 'active' ? 'good' : ''}`}>{key.state}</span>
              </td>
              <td className="small">{key.lastUsedAt === null ? 'never' : formatTime(key.lastUsedAt)}</td>
              <td className="small">{key.expiresAt === null ? 'never' : formatTime(key.expiresAt)}</td>
              <td className="right">
                {actionsByState[key.state].map((act) => (
                  <button
                    key={act}
                    type="button"
                    className="plain"
                    onClick={() => void acts[act](key)}
                    aria-label={`${act} ${key.name} ${key.id}`}
                  >
                    {act}
                  </button>
                ))}
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </Scroll>
  )
}

function Plans() {
  const plans = useQuery({ queryKey: ['plans'], queryFn: operator.plans })
  return (
    <section className="card" aria-labelledby="plans">
      <h2 id="plans">Plans</h2>
      <QueryResult of={plans}>
        {({ plans: found }) => (
          <table>
            <Columns of={['Plan', 'Calls a second', 'Calls a day']} figures={['Calls a second', 'Calls a day']} />
            <tbody>
              {found.map(({ name, perSecond, perDay }) => (
                <tr key={name}>
                  <td>{name}</td>
                  <td className="num">{perSecond === 0 ? 'no limit' : perSecond.toLocaleString('en')}</td>
                  <td className="num">{perDay === 0 ? 'no limit' : perDay.toLocaleString('en')}</td>
                </tr>
              ))}
            </tbody>
          </table>
        )}
      </QueryResult>
      <p className="soft small">
        Set in the configuration under <code>plans</code>.
      </p>
    </section>
  )
}
