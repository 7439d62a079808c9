// The form to create a new secret for a key. It is shown once. The old secret can work for some time longer.
import { useMutation } from '@tanstack/preact-query'
import { useState } from 'preact/compat'
import type { KeyView, NewKeyReply } from '#shared/console-calls.ts'
import { operator } from '../../operator.ts'
import { Card } from '../../parts/card.tsx'
import { Choice, Form, Submit } from '../../parts/controls.tsx'
import { formatTime } from '../../parts/format.ts'
import { Failure } from '../../parts/query-result.tsx'
import { timeInDays } from './key-form.tsx'
import { ShownOnce } from './shown-once.tsx'

/** Days that the old secret still works. */
const overlaps = {
  '0': 'stops working at once; on other servers within a second',
  '1': 'works for 1 day',
  '7': 'works for 7 days',
  '30': 'works for 30 days',
}
type Overlap = keyof typeof overlaps

interface RotateKeyProps {
  readonly of: KeyView
  readonly onRotated: () => void
  readonly onClose: () => void
}

export function RotateKey({ of: key, onRotated, onClose }: RotateKeyProps) {
  const [days, setDays] = useState<Overlap>('0')
  const isRevoked = key.state === 'revoked'
  const rotation = useMutation({
    mutationFn: () =>
      operator.rotateKey(key.id, { restore: isRevoked, ...(days !== '0' && { oldSecretUntil: timeInDays(days) }) }),
    onSuccess: onRotated,
  })
  return (
    <Card
      id="rotate-key"
      title={
        <>
          New secret for {key.name} <code>{key.id}</code>
        </>
      }
    >
      {rotation.data ? (
        <Rotated reply={rotation.data} onClose={onClose} />
      ) : (
        <Form onSubmit={() => rotation.mutate()}>
          {isRevoked && <p>The key is revoked. With the new secret it works again; the old one stays invalid.</p>}
          {key.oldSecretUntil !== null && (
            <p className="note warn">
              An older secret still works until {formatTime(key.oldSecretUntil)}. It stops working now.
            </p>
          )}
          <div className="row">
            {!isRevoked && (
              <Choice
                label="Old secret"
                value={days}
                options={Object.keys(overlaps) as Overlap[]}
                labels={overlaps}
                onChoose={setDays}
              />
            )}
            <Submit>Create secret</Submit>
            <button type="button" className="plain" onClick={onClose}>
              Cancel
            </button>
          </div>
        </Form>
      )}
      {rotation.error && <Failure error={rotation.error} />}
    </Card>
  )
}

function Rotated({ reply, onClose }: { readonly reply: NewKeyReply; readonly onClose: () => void }) {
  return (
    <>
      <ShownOnce text={reply.key} />
      <p>
        {reply.oldSecretUntil === undefined
          ? 'The old secret no longer works.'
          : `The old secret works until ${formatTime(reply.oldSecretUntil)}.`}
      </p>
      <button type="button" onClick={onClose}>
        Done
      </button>
    </>
  )
}
