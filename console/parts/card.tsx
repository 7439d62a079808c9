// A section of a page. Its heading is also its accessible name.
import type { ReactNode } from 'preact/compat'

interface CardProps {
  readonly id: string
  readonly title: ReactNode
  /** Shown to the right of the heading. */
  readonly aside?: ReactNode
  readonly children?: ReactNode
}

export function Card({ id, title, aside, children }: CardProps) {
  const heading = <h2 id={id}>{title}</h2>
  return (
    <section className="card" aria-labelledby={id}>
      {aside === undefined ? (
        heading
      ) : (
        <div className="spread">
          {heading}
          {aside}
        </div>
      )}
      {children}
    </section>
  )
}
