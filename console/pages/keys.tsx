// Keys: made, shown once, revoked, and what they were used for. Only for the operator.
import { useQuery, useQueryClient } from '@tanstack/react-query'
import type { KeyView } from '#api/console.ts'
import { operator } from '../operator.ts'
import { Answer } from '../parts/answer.tsx'
import { Columns } from '../parts/columns.tsx'
import { Scroll } from '../parts/scroll.tsx'
import { time } from '../parts/words.ts'
import { usePass } from '../pass.tsx'
import { hrefOf, type Place } from '../place.ts'
import { NewKey } from './keys/new-key.tsx'
import { Usage } from './keys/usage.tsx'

export function Keys({ place }: { readonly place: Place }) {
  const { session, known } = usePass()
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
      {session.signedIn && (chosen === undefined ? <All /> : <Usage key={chosen} id={chosen} />)}
    </>
  )
}

function All() {
  const queries = useQueryClient()
  const keys = useQuery({ queryKey: ['keys'], queryFn: operator.keys })
  const again = () => queries.invalidateQueries({ queryKey: ['keys'] })
  return (
    <>
      <NewKey made={again} />
      <section className="card" aria-labelledby="all-keys">
        <h2 id="all-keys">All keys</h2>
        <Answer of={keys}>
          {({ keys: found, total }) => (
            <>
              {total > found.length && (
                <p className="soft">
                  The newest {found.length} of {total}.
                </p>
              )}
              <KeyTable keys={found} changed={again} />
            </>
          )}
        </Answer>
        <p className="soft small">
          Calls without a key are counted too: <a href={hrefOf('keys', ['anonymous'])}>their usage</a>.
        </p>
      </section>
      <Plans />
    </>
  )
}

function KeyTable({ keys, changed }: { readonly keys: readonly KeyView[]; readonly changed: () => void }) {
  const revoke = async ({ id, name }: KeyView) => {
    if (!window.confirm(`Revoke ${name} (${id})? Callers that use it are refused from now on.`)) return
    await operator.revokeKey(id)
    changed()
  }
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
              <td className="small">{key.lastUsedAt === null ? 'never' : time(key.lastUsedAt)}</td>
              <td className="small">{key.expiresAt === null ? 'never' : time(key.expiresAt)}</td>
              <td className="right">
                {key.state === 'active' && (
                  <button
                    type="button"
                    className="plain"
                    onClick={() => void revoke(key)}
                    aria-label={`Revoke ${key.name} ${key.id}`}
                  >
                    Revoke
                  </button>
                )}
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
      <Answer of={plans}>
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
      </Answer>
      <p className="soft small">
        Set in the configuration under <code>plans</code>.
      </p>
    </section>
  )
}
