// Opens the search of the whole console, also with the key "/".
import { useEffect } from 'preact/compat'
import { useDialog } from '../parts/use-dialog.tsx'

export function SearchButton() {
  const [dialog, open] = useDialog(() => import('./search-dialog.tsx').then(({ SearchDialog }) => SearchDialog))
  useEffect(() => {
    const onKey = (event: KeyboardEvent) => {
      const { key, target, ctrlKey, metaKey, altKey } = event
      if (key !== '/' || ctrlKey || metaKey || altKey) return
      // Not while typing, and not behind another dialog.
      if ((target as Element).closest?.('input, textarea, select, dialog')) return
      event.preventDefault()
      open()
    }
    window.addEventListener('keydown', onKey)
    return () => window.removeEventListener('keydown', onKey)
  })
  return (
    <>
      <button type="button" className="find" aria-keyshortcuts="/" onClick={open}>
        Find anything <kbd>/</kbd>
      </button>
      {dialog}
    </>
  )
}
