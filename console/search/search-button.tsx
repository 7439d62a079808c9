// Opens the search of the whole console, also with the keys "/" and Ctrl+K (on a Mac, Cmd+K).
import { useCallback, useEffect, useRef, useState } from 'preact/compat'
import { lazyDialog } from '../parts/lazy-dialog.tsx'

const loadDialog = () => import('./search-dialog.tsx').then(({ SearchDialog }) => SearchDialog)
const SearchDialog = lazyDialog(loadDialog)
const preloadAfterMs = 500
const openEvent = 'tetrad-open-search'

/** For other buttons. `text` is searched at once. */
export const openSearch = (text = ''): void => void window.dispatchEvent(new CustomEvent(openEvent, { detail: text }))

export function SearchButton() {
  const [isOpen, setOpen] = useState(false)
  /** What was typed since the search was opened, until the dialog is loaded. Undefined: it is not opened, or is loaded. */
  const typed = useRef<string>()
  const open = useCallback((text = '') => {
    typed.current ??= text
    setOpen(true)
  }, [])
  const takeTyped = () => {
    const text = typed.current ?? ''
    typed.current = undefined
    return text
  }
  const close = () => {
    typed.current = undefined
    setOpen(false)
  }
  // After the page, so that the dialog opens at once. If it fails, opening tries again.
  useEffect(() => {
    const timer = setTimeout(() => loadDialog().catch(() => undefined), preloadAfterMs)
    return () => clearTimeout(timer)
  }, [])
  useEffect(() => {
    const onKey = (event: KeyboardEvent) => {
      const { key, target, ctrlKey, metaKey, altKey } = event
      if (typed.current !== undefined && key.length === 1 && !ctrlKey && !metaKey) {
        event.preventDefault()
        typed.current += key
        return
      }
      const isShortcut = key.toLowerCase() === 'k' && (ctrlKey || metaKey) && !altKey
      if (!isShortcut && (key !== '/' || ctrlKey || metaKey || altKey)) return
      // Not behind another dialog. A slash can also be typed into a field.
      if ((target as Element).closest?.(isShortcut ? 'dialog' : 'input, textarea, select, dialog')) return
      event.preventDefault()
      open()
    }
    window.addEventListener('keydown', onKey)
    const onOpen = ({ detail }: CustomEventInit<string>) => open(detail)
    window.addEventListener(openEvent, onOpen as EventListener)
    return () => {
      window.removeEventListener('keydown', onKey)
      window.removeEventListener(openEvent, onOpen as EventListener)
    }
  }, [open])
  return (
    <>
      <button type="button" className="find" aria-keyshortcuts="/ Control+K Meta+K" onClick={() => open()}>
        Find anything <kbd>/</kbd>
      </button>
      {isOpen && <SearchDialog onClose={close} takeTyped={takeTyped} />}
    </>
  )
}
