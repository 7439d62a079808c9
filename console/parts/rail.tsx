// The frame's header: name, search, and a menu with the pages, the key and the theme. On a narrow screen, the menu opens with
// a button. On a wide one, it is always visible.
import { type ReactNode, useEffect, useRef, useState } from 'preact/compat'
import { hrefOf } from '../route.ts'
import { SearchButton } from '../search/search-button.tsx'

interface RailProps {
  /** What the page shows. The menu closes when it changes. */
  readonly path: string
  readonly isHome: boolean
  readonly children: ReactNode
}

export function Rail({ path, isHome, children }: RailProps) {
  const [isOpen, setOpen] = useState(false)
  const button = useRef<HTMLButtonElement>(null)
  // biome-ignore lint/correctness/useExhaustiveDependencies: close the menu when the page changes
  useEffect(() => setOpen(false), [path])
  const closeOnLink = (event: MouseEvent) => {
    // Also a link to the current page, which changes nothing else.
    if ((event.target as Element).closest('a')) setOpen(false)
  }
  const closeOnEscape = (event: KeyboardEvent) => {
    // A dialog that was opened from the menu closes first.
    if (event.key !== 'Escape' || !isOpen || (event.target as Element).closest('dialog')) return
    setOpen(false)
    button.current?.focus()
  }
  return (
    // biome-ignore lint/a11y/noStaticElementInteractions: Escape is a second way to close the menu
    <header className={isOpen ? 'rail open' : 'rail'} onKeyDown={closeOnEscape}>
      <a className="brand" href={hrefOf('home')} aria-current={isHome ? 'page' : undefined}>
        <img src="/favicon.svg" alt="" />
        Tetrad
      </a>
      <SearchButton />
      <button
        ref={button}
        type="button"
        className="menu-button"
        aria-expanded={isOpen}
        aria-controls="menu"
        onClick={() => setOpen(!isOpen)}
      >
        Menu
      </button>
      {/* biome-ignore lint/a11y/noStaticElementInteractions lint/a11y/useKeyWithClickEvents: the links work without it */}
      <div id="menu" className="menu" onClick={closeOnLink}>
        {children}
      </div>
    </header>
  )
}
