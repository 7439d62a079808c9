// Whoever cannot see that the page has changed hears it: focus goes to its heading, as soon as there is one. Not where the
// visitor is already doing something in the new page, and not when the console is opened, which browsers announce themselves.
import { useEffect, useRef } from 'react'

/** The page before stays hidden in its place until the code of the next one has come. */
const isSeen = (element: Element | null): element is HTMLElement => element?.checkVisibility() ?? false

export function useHeading(at: string): void {
  const before = useRef(at)
  useEffect(() => {
    const main = document.getElementById('main')
    if (before.current === at || !main) return
    before.current = at
    /** True when there is nothing left to do. */
    const reach = (): boolean => {
      const { activeElement: busyWith } = document
      if (busyWith !== main && main.contains(busyWith) && busyWith?.tagName !== 'H1' && isSeen(busyWith)) return true
      const heading = main.querySelector('h1')
      if (!isSeen(heading)) return false
      heading.tabIndex = -1
      heading.focus()
      return true
    }
    if (reach()) return
    const watch = new MutationObserver(() => {
      if (reach()) watch.disconnect()
    })
    watch.observe(main, { childList: true, subtree: true })
    return () => watch.disconnect()
  }, [at])
}
