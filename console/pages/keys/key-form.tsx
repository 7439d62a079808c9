// The fields of a key, for new and existing keys.
import { type FormEvent, type ReactNode, useState } from 'react'
import { type Group, groups, type Plan, plans } from '#api/routes.ts'
import { Failure } from '../../parts/query-result.tsx'

export interface KeyFields {
  readonly name: string
  readonly plan: Plan
  readonly groups: readonly Group[]
  readonly admin: boolean
  /** Days from now, as typed. */
  readonly days: string
}

interface Props {
  readonly start: KeyFields
  /** Label and placeholder of the expiry field, and its minimum. */
  readonly expiry: { readonly label: string; readonly otherwise: string; readonly daysMin: number }
  /** The buttons below the fields. */
  readonly children: ReactNode
  send(fields: KeyFields): Promise<void>
}

export const timeInDays = (days: string): string => new Date(Date.now() + Number(days) * 86_400_000).toISOString()

export function KeyForm({ start, expiry, children, send }: Props) {
  const [fields, setFields] = useState(start)
  const [error, setError] = useState<unknown>()
  const set = (change: Partial<KeyFields>) => setFields({ ...fields, ...change })
  const submit = async (event: FormEvent) => {
    event.preventDefault()
    setError(undefined)
    try {
      await send(fields)
      set({ name: start.name })
    } catch (failure) {
      setError(failure)
    }
  }
  return (
    <>
      <form onSubmit={submit}>
        <div className="row">
          <label className="field wide">
            Name
            <input
              value={fields.name}
              onChange={({ target }) => set({ name: target.value })}
              required
              maxLength={100}
            />
          </label>
          <label className="field">
            Plan
            <select value={fields.plan} onChange={({ target }) => set({ plan: target.value as Plan })}>
              {plans.map((plan) => (
                <option key={plan}>{plan}</option>
              ))}
            </select>
          </label>
          <label className="field">
            {expiry.label}
            <input
              type="number"
              min={expiry.daysMin}
              max={36_500}
              placeholder={expiry.otherwise}
              value={fields.days}
              onChange={({ target }) => set({ days: target.value })}
            />
          </label>
        </div>
        <Permissions fields={fields} set={set} />
        {children}
      </form>
      {error !== undefined && <Failure error={error} />}
    </>
  )
}

function Permissions({ fields, set }: { readonly fields: KeyFields; set(change: Partial<KeyFields>): void }) {
  const { groups: allowed, admin } = fields
  const toggle = (group: Group) =>
    set({ groups: allowed.includes(group) ? allowed.filter((other) => other !== group) : [...allowed, group] })
  return (
    <fieldset className="choices">
      <legend>Interfaces</legend>
      {groups.map((group) => (
        <label key={group}>
          <input type="checkbox" checked={allowed.includes(group)} onChange={() => toggle(group)} /> {group}
        </label>
      ))}
      <label title="Administration: may change data, for example push exchange rates">
        <input type="checkbox" checked={admin} onChange={() => set({ admin: !admin })} /> admin (may push rates)
      </label>
    </fieldset>
  )
}
