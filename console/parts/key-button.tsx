// Shows the id of the key that the pages use, and opens a dialog to set or remove the key.
import { useConsoleContext } from '../session.tsx'
import { shortenHex } from './format.ts'
import { useDialog } from './use-dialog.tsx'

const idOf = (key: string): string => key.split(':')[1] ?? '?'

export function KeyButton() {
  const { key } = useConsoleContext()
  const [dialog, open] = useDialog(() => import('./key-dialog.tsx').then(({ KeyDialog }) => KeyDialog))
  return (
    <>
      <button type="button" onClick={open}>
        {key === '' ? 'Set a key' : `Key ${shortenHex(idOf(key))}`}
      </button>
      {dialog}
    </>
  )
}
