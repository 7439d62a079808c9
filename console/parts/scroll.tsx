// A region that scrolls sideways when its content is wider than the screen, also by keyboard.
import type { ReactNode } from 'preact/compat'

export function Scroll({ name, children }: { readonly name: string; readonly children: ReactNode }) {
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: a region that scrolls must be reachable by keyboard
    <section className="scroll" tabIndex={0} aria-label={name}>
      {children}
    </section>
  )
}
