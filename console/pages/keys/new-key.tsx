// A new key: what it may do, and then the whole of it, once.
import { type FormEvent, useState } from 'react'
import { type Group, groups, type Plan, plans } from '#api/routes.ts'
import { operator } from '../../operator.ts'
import { Failure } from '../../parts/answer.tsx'
import { Copyable } from '../../parts/copyable.tsx'

export function NewKey({ made }: { readonly made: () => void }) {
  const [name, setName] = useState('')
  const [plan, setPlan] = useState<Plan>('free')
  const [allowed, setAllowed] = useState<readonly Group[]>(groups)
  const [days, setDays] = useState('')
  const [admin, setAdmin] = useState(false)
  const [key, setKey] = useState('')
  const [error, setError] = useState<unknown>()
  const create = async (event: FormEvent) => {
    event.preventDefault()
    setError(undefined)
    try {
      const expiresAt = days === '' ? {} : { expiresAt: new Date(Date.now() + Number(days) * 86_400_000).toISOString() }
      const reply = await operator.createKey({ name, plan, groups: allowed, admin, ...expiresAt })
      setKey(reply.key)
      setName('')
      made()
    } catch (failure) {
      setError(failure)
    }
  }
  const toggle = (group: Group) =>
    setAllowed(allowed.includes(group) ? allowed.filter((one) => one !== group) : [...allowed, group])
  return (
    <section className="card" aria-labelledby="new-key">
      <h2 id="new-key">A new key</h2>
      <form onSubmit={create}>
        <div className="row">
          <label className="field wide">
            Whose key it is
            <input value={name} onChange={({ target }) => setName(target.value)} required maxLength={100} />
          </label>
          <label className="field">
            Plan
            <select value={plan} onChange={({ target }) => setPlan(target.value as Plan)}>
              {plans.map((one) => (
                <option key={one}>{one}</option>
              ))}
            </select>
          </label>
          <label className="field">
            Days until it expires
            <input
              type="number"
              min={1}
              max={36_500}
              placeholder="never"
              value={days}
              onChange={({ target }) => setDays(target.value)}
            />
          </label>
        </div>
        <fieldset className="choices">
          <legend>Interfaces</legend>
          {groups.map((group) => (
            <label key={group}>
              <input type="checkbox" checked={allowed.includes(group)} onChange={() => toggle(group)} /> {group}
            </label>
          ))}
          <label title="May change what everybody is answered, such as pushing rates">
            <input type="checkbox" checked={admin} onChange={() => setAdmin(!admin)} /> may push rates (admin)
          </label>
        </fieldset>
        <button type="submit" className="main">
          Create
        </button>
      </form>
      {error !== undefined && <Failure error={error} />}
      {key !== '' && (
        <div className="note good" role="status">
          This is the only time the whole key is shown; keep it where secrets are kept.
          <Copyable title="The key" text={key} />
        </div>
      )}
    </section>
  )
}
