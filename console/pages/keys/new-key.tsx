// The form to create a key. The new key is shown once.

import { useState } from 'preact/compat'
import { groups } from '#api/contract/routes.ts'
import { operator } from '../../operator.ts'
import { Card } from '../../parts/card.tsx'
import { Submit } from '../../parts/controls.tsx'
import { type KeyFields, KeyForm, timeInDays } from './key-form.tsx'
import { ShownOnce } from './shown-once.tsx'

const start: KeyFields = { name: '', plan: 'free', groups: [...groups], admin: false, days: '' }

export function NewKey({ onCreated }: { readonly onCreated: () => void }) {
  const [key, setKey] = useState('')
  const create = async ({ days, ...input }: KeyFields) => {
    const reply = await operator.createKey({ ...input, ...(days !== '' && { expiresAt: timeInDays(days) }) })
    setKey(reply.key)
    onCreated()
  }
  return (
    <Card id="new-key" title="Create a key">
      <KeyForm start={start} expiry={{ label: 'Expires in days', otherwise: 'never', daysMin: 1 }} send={create}>
        <Submit>Create key</Submit>
      </KeyForm>
      {key !== '' && <ShownOnce text={key} />}
    </Card>
  )
}
