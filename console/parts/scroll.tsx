// What may be wider than the screen scrolls by itself, also from the keyboard.
import type { ReactNode } from 'react'

export function Scroll({ name, children }: { readonly name: string; readonly children: ReactNode }) {
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: a region that scrolls must be reachable by keyboard
    <section className="scroll" tabIndex={0} aria-label={name}>
      {children}
    </section>
  )
}
