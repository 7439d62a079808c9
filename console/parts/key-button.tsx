// Shows the id of the key that the pages use, and opens a dialog to set or remove the key.
import { useRef, useState } from 'react'
import { useConsoleContext } from '../session.tsx'
import { Form, TextField } from './controls.tsx'
import { DemoKeyButton } from './demo.tsx'
import { shortenHex } from './format.ts'

const idOf = (key: string): string => key.split(':')[1] ?? '?'

export function KeyButton() {
  const { key, setKey } = useConsoleContext()
  const dialog = useRef<HTMLDialogElement>(null)
  const [text, setText] = useState('')
  const close = () => dialog.current?.close()
  const save = () => {
    setKey(text.trim())
    setText('')
    close()
  }
  return (
    <>
      <button type="button" onClick={() => dialog.current?.showModal()}>
        {key === '' ? 'Set a key' : `Key ${shortenHex(idOf(key))}`}
      </button>
      <dialog ref={dialog} aria-labelledby="key-title">
        <h2 id="key-title">API key</h2>
        <p className="soft">
          Explorer, FX and Validators need a key. Markets work without one. The key is kept in this tab until you close
          it. The operator creates keys on the Keys page or with <code>tetrad keys create</code>.
        </p>
        <Form onSubmit={save}>
          <TextField
            label="Key"
            className="mono"
            type="password"
            autoComplete="off"
            placeholder="tetrad:<id>:<secret>"
            value={text}
            onText={setText}
            required
            pattern="\s*tetrad:[A-Za-z0-9_\-]+:[A-Za-z0-9_\-]+\s*"
            title="tetrad:<id>:<secret>"
          />
          <p className="row">
            <button type="submit" className="main">
              Use this key
            </button>
            <DemoKeyButton onUse={close} />
            {key !== '' && (
              <button
                type="button"
                onClick={() => {
                  setKey('')
                  close()
                }}
              >
                Remove the key
              </button>
            )}
            <button type="button" onClick={close}>
              Cancel
            </button>
          </p>
        </Form>
      </dialog>
    </>
  )
}
