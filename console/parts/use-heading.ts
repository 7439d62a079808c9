// Moves focus to the heading of a new page, so that screen readers announce it. Not when the user already has focus inside
// the new page, and not on the first page, which browsers announce themselves.
import { useEffect, useRef } from 'react'

/** While the code of the next page loads, the previous page stays in the document, but hidden. */
const isVisible = (element: Element | null): element is HTMLElement => element?.checkVisibility() ?? false

export function useHeading(pageKey: string): void {
  const previousKey = useRef(pageKey)
  useEffect(() => {
    const main = document.getElementById('main')
    if (previousKey.current === pageKey || !main) return
    previousKey.current = pageKey
    /** Returns true when there is nothing left to do. */
    const focusHeading = (): boolean => {
      const { activeElement } = document
      const isInPage = activeElement !== main && main.contains(activeElement) && isVisible(activeElement)
      if (isInPage && activeElement?.tagName !== 'H1') return true
      const heading = main.querySelector('h1')
      if (!isVisible(heading)) return false
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
