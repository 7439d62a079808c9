// The fields of a key, for new and existing keys.
import { useMutation } from '@tanstack/preact-query'
import { type ReactNode, useState } from 'preact/compat'
import { type Group, groups, type Plan, plans } from '#api/contract/routes.ts'
import { Choice, Form, TextField } from '../../parts/controls.tsx'
import { Failure } from '../../parts/query-result.tsx'

export interface KeyFields {
  readonly name: string
  readonly plan: Plan
  readonly groups: Group[]
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
  const set = (change: Partial<KeyFields>) => setFields({ ...fields, ...change })
  const { error, mutate } = useMutation({ mutationFn: send, onSuccess: () => set({ name: start.name }) })
  return (
    <>
      <Form onSubmit={() => mutate(fields)}>
        <div className="row">
          <TextField
            isWide
            label="Name"
            value={fields.name}
            onText={(name) => set({ name })}
            required
            maxLength={100}
          />
          <Choice label="Plan" value={fields.plan} options={plans} onChoose={(plan) => set({ plan })} />
          <TextField
            label={expiry.label}
            type="number"
            min={expiry.daysMin}
            max={36_500}
            placeholder={expiry.otherwise}
            value={fields.days}
            onText={(days) => set({ days })}
          />
        </div>
        <Permissions fields={fields} set={set} />
        {children}
      </Form>
      {error && <Failure error={error} />}
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
