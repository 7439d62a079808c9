// The key the pages call with: shown by its id only, pasted or forgotten here.
import { type FormEvent, useRef, useState } from 'react'
import { useConsoleContext } from '../session.tsx'
import { shortenHex } from './format.ts'

const idOf = (key: string): string => key.split(':')[1] ?? '?'

export function KeyButton() {
  const { key, setKey: takeKey } = useConsoleContext()
  const dialog = useRef<HTMLDialogElement>(null)
  const [text, setText] = useState('')
  const close = () => dialog.current?.close()
  const save = (event: FormEvent) => {
    event.preventDefault()
    takeKey(text.trim())
    setText('')
    close()
  }
  return (
    <>
      <button type="button" onClick={() => dialog.current?.showModal()}>
        {key === '' ? 'Set a key' : `Key ${shortenHex(idOf(key))}`}
      </button>
      <dialog ref={dialog} aria-labelledby="key-title">
        <h2 id="key-title">The key this page calls with</h2>
        <p className="soft">
          Explorer, FX and validators answer only with a key; markets are open. It stays in this tab and is forgotten
          when the tab is closed. The operator makes keys on the Keys page or with <code>tetrad keys create</code>.
        </p>
        <form onSubmit={save}>
          <label className="field">
            Key
            <input
              className="mono"
              type="password"
              autoComplete="off"
              placeholder="tetrad:<id>:<secret>"
              value={text}
              onChange={({ target }) => setText(target.value)}
              required
              pattern="\s*tetrad:[A-Za-z0-9_\-]+:[A-Za-z0-9_\-]+\s*"
              title="tetrad:<id>:<secret>"
            />
          </label>
          <p className="row">
            <button type="submit" className="main">
              Use it
            </button>
            {key !== '' && (
              <button
                type="button"
                onClick={() => {
                  takeKey('')
                  close()
                }}
              >
                Forget the present one
              </button>
            )}
            <button type="button" onClick={close}>
              Cancel
            </button>
          </p>
        </form>
      </dialog>
    </>
  )
}
