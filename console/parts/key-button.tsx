// Shows the id of the key that the pages use, and opens a dialog to set or remove the key.
import { useState } from 'preact/compat'
import { useConsoleContext } from '../session.tsx'
import { shortenHex } from './format.ts'
import { lazyDialog } from './lazy-dialog.tsx'

const KeyDialog = lazyDialog(() => import('./key-dialog.tsx').then(({ KeyDialog }) => KeyDialog))

const idOf = (key: string): string => key.split(':')[1] ?? '?'
/** The key of a session has the id `console-…`. */
const labelOf = (id: string): string => (id.startsWith('console-') ? 'session' : shortenHex(id))

export function KeyButton() {
  const { key } = useConsoleContext()
  const [isOpen, setOpen] = useState(false)
  return (
    <>
      <button type="button" onClick={() => setOpen(true)}>
        {key === '' ? 'Set a key' : `Key: ${labelOf(idOf(key))}`}
      </button>
      {isOpen && <KeyDialog onClose={() => setOpen(false)} />}
    </>
  )
}
