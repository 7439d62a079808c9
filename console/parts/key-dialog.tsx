// The dialog to set or remove the key that the pages use.
import { useState } from 'preact/compat'
import { useConsoleContext } from '../session.tsx'
import { Form, Submit, TextField } from './controls.tsx'
import { DemoKeyButton } from './demo.tsx'
import { type DialogProps, Modal } from './modal.tsx'

export function KeyDialog({ onClose }: DialogProps) {
  const { key, setKey } = useConsoleContext()
  const [text, setText] = useState('')
  const save = (newKey: string) => {
    setKey(newKey)
    onClose()
  }
  return (
    <Modal aria-labelledby="key-title" onClose={onClose}>
      <h2 id="key-title">API key</h2>
      <p className="soft">
        Explorer, FX and Validators need a key. Markets work without one. The key applies to all open tabs until you
        close them. The operator creates keys on the Keys page or with <code>tetrad keys create</code>.
      </p>
      <Form onSubmit={() => save(text.trim())}>
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
          <Submit>Use this key</Submit>
          <DemoKeyButton onUse={onClose} />
          {key !== '' && (
            <button type="button" onClick={() => save('')}>
              Remove the key
            </button>
          )}
          <button type="button" onClick={onClose}>
            Cancel
          </button>
        </p>
      </Form>
    </Modal>
  )
}
