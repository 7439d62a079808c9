// A new key: what it may do, and then the whole of it, once.
import { useState } from 'react'
import { groups } from '#api/routes.ts'
import { operator } from '../../operator.ts'
import { type KeyFields, KeyForm, momentIn } from './key-form.tsx'
import { ShownOnce } from './shown-once.tsx'

const start: KeyFields = { name: '', plan: 'free', groups, admin: false, days: '' }

export function NewKey({ made }: { readonly made: () => void }) {
  const [key, setKey] = useState('')
  const create = async ({ days, ...wanted }: KeyFields) => {
    const reply = await operator.createKey({ ...wanted, ...(days !== '' && { expiresAt: momentIn(days) }) })
    setKey(reply.key)
    made()
  }
  return (
    <section className="card" aria-labelledby="new-key">
      <h2 id="new-key">A new key</h2>
      <KeyForm start={start} expiry={{ label: 'Days until it expires', otherwise: 'never', daysMin: 1 }} send={create}>
        <button type="submit" className="main">
          Create
        </button>
      </KeyForm>
      {key !== '' && <ShownOnce text={key} />}
    </section>
  )
}
