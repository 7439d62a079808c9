// Opens the search of the whole console, also with the key "/".
import { useEffect, useState } from 'preact/compat'
import { SearchDialog } from './search-dialog.tsx'

export function SearchButton() {
  const [isOpen, setOpen] = useState(false)
  useEffect(() => {
    const onKey = (event: KeyboardEvent) => {
      const { key, target, ctrlKey, metaKey, altKey } = event
      if (key !== '/' || ctrlKey || metaKey || altKey) return
      // Not while typing, and not behind another dialog.
      if ((target as Element).closest?.('input, textarea, select, dialog')) return
      event.preventDefault()
      setOpen(true)
    }
    window.addEventListener('keydown', onKey)
    return () => window.removeEventListener('keydown', onKey)
  }, [])
  return (
    <>
      <button type="button" className="find" aria-keyshortcuts="/" onClick={() => setOpen(true)}>
        Find anything <kbd>/</kbd>
      </button>
      {isOpen && <SearchDialog onClose={() => setOpen(false)} />}
    </>
  )
}
