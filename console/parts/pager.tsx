// Buttons for the previous and the next page of a list, and what the page shows.
import type { ReactNode } from 'preact/compat'

interface PagerProps {
  readonly previous?: string
  readonly next?: string
  /** Undefined: there is no such page. */
  readonly onPrevious: (() => void) | undefined
  readonly onNext: (() => void) | undefined
  readonly children?: ReactNode
}

export function Pager({ previous = 'Previous page', next = 'Next page', onPrevious, onNext, children }: PagerProps) {
  return (
    <div className="row pager">
      {(onPrevious || onNext) && (
        <>
          <button type="button" disabled={!onPrevious} onClick={onPrevious}>
            {previous}
          </button>
          <button type="button" disabled={!onNext} onClick={onNext}>
            {next}
          </button>
        </>
      )}
      {children}
    </div>
  )
}
