// Opens the search of the whole console, also with the keys "/" and Ctrl+K (on a Mac, Cmd+K).
import { useEffect, useState } from 'preact/compat'
import { lazyDialog } from '../parts/lazy-dialog.tsx'

const loadDialog = () => import('./search-dialog.tsx').then(({ SearchDialog }) => SearchDialog)
const SearchDialog = lazyDialog(loadDialog)
const preloadAfterMs = 500
const openEvent = 'tetrad-open-search'

/** For other buttons. */
export const openSearch = (): void => void window.dispatchEvent(new Event(openEvent))

export function SearchButton() {
  const [isOpen, setOpen] = useState(false)
  // After the page, so that the first key that is typed reaches the dialog. If it fails, opening tries again.
  useEffect(() => {
    const timer = setTimeout(() => loadDialog().catch(() => undefined), preloadAfterMs)
    return () => clearTimeout(timer)
  }, [])
  useEffect(() => {
    const onKey = (event: KeyboardEvent) => {
      const { key, target, ctrlKey, metaKey, altKey } = event
      const isShortcut = key.toLowerCase() === 'k' && (ctrlKey || metaKey) && !altKey
      if (!isShortcut && (key !== '/' || ctrlKey || metaKey || altKey)) return
      // Not behind another dialog. A slash can also be typed into a field.
      if ((target as Element).closest?.(isShortcut ? 'dialog' : 'input, textarea, select, dialog')) return
      event.preventDefault()
      setOpen(true)
    }
    const onOpen = () => setOpen(true)
    window.addEventListener('keydown', onKey)
    window.addEventListener(openEvent, onOpen)
    return () => {
      window.removeEventListener('keydown', onKey)
      window.removeEventListener(openEvent, onOpen)
    }
  }, [])
  return (
    <>
      <button type="button" className="find" aria-keyshortcuts="/ Control+K Meta+K" onClick={() => setOpen(true)}>
        Find anything <kbd>/</kbd>
      </button>
      {isOpen && <SearchDialog onClose={() => setOpen(false)} />}
    </>
  )
}
