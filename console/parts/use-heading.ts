// Moves focus to the heading of a new page, so that screen readers announce it. Not when the user already has focus inside
// the new page, and not on the first page, which browsers announce themselves.
import { useEffect, useRef } from 'preact/compat'

export function useHeading(pageKey: string): void {
  const previousKey = useRef(pageKey)
  useEffect(() => {
    const main = document.getElementById('main')
    if (previousKey.current === pageKey || !main) return
    previousKey.current = pageKey
    /** Returns true when there is nothing left to do. */
    const focusHeading = (): boolean => {
      const { activeElement } = document
      const isInPage = activeElement !== main && main.contains(activeElement)
      if (isInPage && activeElement?.tagName !== 'H1') return true
      const heading = main.querySelector('h1')
      if (!heading) return false
      heading.tabIndex = -1
      heading.focus()
      return true
    }
    if (focusHeading()) return
    const watch = new MutationObserver(() => {
      if (focusHeading()) watch.disconnect()
    })
    watch.observe(main, { childList: true, subtree: true })
    return () => watch.disconnect()
  }, [pageKey])
}
