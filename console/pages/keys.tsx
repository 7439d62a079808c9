// The keys page, for the operator only: create, edit, rotate and revoke keys, and see their usage.
import { keepPreviousData, useQuery, useQueryClient } from '@tanstack/preact-query'
import { useState } from 'preact/compat'
import type { KeyView } from '#shared/console-calls.ts'
import { operator } from '../operator.ts'
import { Card } from '../parts/card.tsx'
import { ConfirmDialog } from '../parts/confirm-dialog.tsx'
import { Form, TextField } from '../parts/controls.tsx'
import { formatCount, formatTime } from '../parts/format.ts'
import { Pager } from '../parts/pager.tsx'
import { Failure, QueryResult } from '../parts/query-result.tsx'
import { SignInHelp } from '../parts/sign-in-help.tsx'
import { Table } from '../parts/table.tsx'
import { go, hrefOf, type PageProps } from '../route.ts'
import { useConsoleContext } from '../session.tsx'
import { EditKey } from './keys/edit-key.tsx'
import { NewKey } from './keys/new-key.tsx'
import { RotateKey } from './keys/rotate-key.tsx'
import { Usage } from './keys/usage.tsx'

export function Keys({ route }: PageProps) {
  const { session, isReady } = useConsoleContext()
  const [id] = route.parts
  return (
    <>
      {id === undefined ? (
        <>
          <h1>API keys</h1>
          <p className="lead">Create and manage API keys: permissions, limits and usage.</p>
        </>
      ) : (
        <>
          <p className="small">
            <a href={hrefOf('keys')}>Keys</a> / {id}
          </p>
          <h1>Usage of {id === 'anonymous' ? 'requests without a key' : <span className="mono">{id}</span>}</h1>
        </>
      )}
      {isReady && !session.signedIn && (
        <div className="note warn">
          Sign in to manage keys. <SignInHelp />
        </div>
      )}
      {session.signedIn &&
        (id === undefined ? (
          <AllKeys search={route.query.get('q')?.trim() ?? ''} page={pageIn(route.query)} />
        ) : (
          <Usage key={id} id={id} />
        ))}
    </>
  )
}

const pageIn = (query: URLSearchParams): number => Math.max(1, Math.floor(Number(query.get('page')) || 1))

interface AllKeysProps {
  readonly search: string
  readonly page: number
}

function AllKeys({ search, page }: AllKeysProps) {
  const queries = useQueryClient()
  const keys = useQuery({
    queryKey: ['keys', search, page],
    queryFn: () => operator.keys(search, page),
    placeholderData: keepPreviousData,
  })
  const [editing, setEditing] = useState<KeyView>()
  const [rotating, setRotating] = useState<KeyView>()
  const refresh = () => queries.invalidateQueries({ queryKey: ['keys'] })
  const closeEditor = () => {
    setEditing(undefined)
    void refresh()
  }
  return (
    <>
      {rotating ? (
        <RotateKey key={rotating.id} of={rotating} onRotated={refresh} onClose={() => setRotating(undefined)} />
      ) : editing ? (
        <EditKey key={editing.id} of={editing} done={closeEditor} />
      ) : (
        <NewKey onCreated={refresh} />
      )}
      <Card id="all-keys" title="All keys">
        <SearchForm key={search} search={search} />
        <QueryResult of={keys}>
          {({ keys: rows, total, pageSize }) => (
            <>
              {rows.length > 0 && <KeyTable keys={rows} changed={refresh} edit={setEditing} rotate={setRotating} />}
              <KeyPager search={search} page={page} pages={Math.ceil(total / pageSize)} total={total} />
            </>
          )}
        </QueryResult>
        <p className="soft small">
          See also the <a href={hrefOf('keys', ['anonymous'])}>usage without a key</a>.
        </p>
      </Card>
      <Plans />
    </>
  )
}

function SearchForm({ search }: { readonly search: string }) {
  const [text, setText] = useState(search)
  return (
    <Form className="row spaced" onSubmit={() => go('keys', [], { q: text.trim() })}>
      <TextField
        isWide
        label="Name or id"
        type="search"
        autoComplete="off"
        maxLength={100}
        value={text}
        onText={setText}
      />
      <button type="submit">Search</button>
    </Form>
  )
}

interface KeyPagerProps extends AllKeysProps {
  readonly pages: number
  readonly total: number
}

function KeyPager({ search, page, pages, total }: KeyPagerProps) {
  const show = (other: number) => () => go('keys', [], { q: search, page: other === 1 ? undefined : other })
  return (
    <Pager
      previous="Newer"
      next="Older"
      onPrevious={page > 1 ? show(Math.min(page - 1, Math.max(1, pages))) : undefined}
      onNext={page < pages ? show(page + 1) : undefined}
    >
      <span className="soft" role="status">
        {total === 0
          ? search === ''
            ? 'No keys yet. Create the first one above.'
            : 'No keys match. Search for a part of the name or the id.'
          : `Page ${page} of ${pages}, ${formatCount(total)} ${total === 1 ? 'key' : 'keys'}`}
      </span>
    </Pager>
  )
}

interface KeyTableProps {
  readonly keys: readonly KeyView[]
  changed(): void
  edit(key: KeyView): void
  rotate(key: KeyView): void
}

type KeyAction = 'Edit' | 'New secret' | 'Revoke'

const actionsByState: Readonly<Record<KeyView['state'], readonly KeyAction[]>> = {
  active: ['Edit', 'New secret', 'Revoke'],
  revoked: ['Edit', 'New secret'],
  expired: ['Edit'],
}

const timeOrNever = (time: string | null): string => (time === null ? 'never' : formatTime(time))

function KeyTable({ keys, changed, edit, rotate }: KeyTableProps) {
  const [error, setError] = useState<unknown>()
  const [revoked, setRevoked] = useState<KeyView>()
  const revoke = async ({ id }: KeyView) => {
    setError(undefined)
    await operator.revokeKey(id).catch(setError)
    changed()
  }
  const actions: Readonly<Record<KeyAction, (key: KeyView) => unknown>> = {
    Edit: edit,
    'New secret': rotate,
    Revoke: setRevoked,
  }
  return (
    <>
      {error !== undefined && <Failure error={error} />}
      {revoked && (
        <ConfirmDialog
          title={`Revoke ${revoked.name}?`}
          action="Revoke"
          onConfirm={() => void revoke(revoked)}
          onClose={() => setRevoked(undefined)}
        >
          Requests with the key <code>{revoked.id}</code> are rejected at once; on other servers within a second.
        </ConfirmDialog>
      )}
      <Table
        name="API keys"
        className="stacked many"
        rows={keys}
        columns={[
          [
            'Name',
            ({ id, name }) => (
              <>
                <a href={hrefOf('keys', [id])}>{name}</a> <div className="soft mono nowrap">{id}</div>
              </>
            ),
          ],
          ['Plan', ({ plan }) => plan],
          [
            'Interfaces',
            ({ groups, admin }) => (
              <>
                {groups.join(', ')}
                {admin && <span className="badge warn">admin</span>}
              </>
            ),
            'small',
          ],
          ['Status', (key) => <KeyState of={key} />],
          ['Last used', ({ lastUsedAt }) => timeOrNever(lastUsedAt), 'small nowrap'],
          ['Expires', ({ expiresAt }) => timeOrNever(expiresAt), 'small'],
          [
            'Actions',
            (key) =>
              actionsByState[key.state].map((action) => (
                <button
                  key={action}
                  type="button"
                  className="plain"
                  onClick={() => void actions[action](key)}
                  aria-label={`${action} ${key.name} ${key.id}`}
                >
                  {action}
                </button>
              )),
            'nowrap',
          ],
        ]}
      />
    </>
  )
}

function KeyState({ of: { state, oldSecretUntil } }: { readonly of: KeyView }) {
  return (
    <>
      <span className={`badge status ${state === 'active' ? 'good' : ''}`}>{state}</span>
      {state === 'active' && oldSecretUntil !== null && (
        <div className="soft small">old secret works until {formatTime(oldSecretUntil)}</div>
      )}
    </>
  )
}

const limitText = (calls: number): string => (calls === 0 ? 'no limit' : formatCount(calls))

function Plans() {
  const plans = useQuery({ queryKey: ['plans'], queryFn: operator.plans })
  return (
    <Card id="plans" title="Plans">
      <QueryResult of={plans}>
        {({ plans: rows }) => (
          <Table
            name="All plans"
            rows={rows}
            columns={[
              ['Plan', ({ name }) => name],
              ['Requests per second', ({ perSecond }) => limitText(perSecond), 'num'],
              ['Requests per day', ({ perDay }) => limitText(perDay), 'num'],
            ]}
          />
        )}
      </QueryResult>
      <p className="soft small">
        Change the limits in <code>tetrad.yaml</code> under <code>plans</code>.
      </p>
    </Card>
  )
}
