// The form to edit a key. Its secret does not change.

import type { KeyView } from '#shared/console-calls.ts'
import { operator } from '../../operator.ts'
import { Submit } from '../../parts/controls.tsx'
import { type KeyFields, KeyForm, timeInDays } from './key-form.tsx'

export function EditKey({ of: key, done }: { readonly of: KeyView; readonly done: () => void }) {
  const { id, name, plan, groups, admin } = key
  const save = async ({ days, ...change }: KeyFields) => {
    const expiresAt = days === '0' ? null : timeInDays(days)
    await operator.editKey(id, { ...change, ...(days !== '' && { expiresAt }) })
    done()
  }
  return (
    <section className="card" aria-labelledby="edit-key">
      <h2 id="edit-key">
        Edit key <code>{id}</code>
      </h2>
      <KeyForm
        start={{ name, plan, groups: [...groups], admin, days: '' }}
        expiry={{ label: 'Expires in days (0: never)', otherwise: 'unchanged', daysMin: 0 }}
        send={save}
      >
        <div className="row">
          <Submit>Save</Submit>
          <button type="button" className="plain" onClick={done}>
            Cancel
          </button>
        </div>
      </KeyForm>
    </section>
  )
}
