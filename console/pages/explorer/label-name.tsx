// What an address is called, and on whose word.
import type { AddressLabel } from '#api/wire/trail.ts'

export function LabelName({ label }: { readonly label: AddressLabel }) {
  return (
    <>
      <strong>{label.name}</strong>{' '}
      <span className="soft">
        (says {label.source}, {label.confidence} % sure{label.entity !== undefined && `, entity ${label.entity}`}
        {label.evidence !== undefined && /^https?:/.test(label.evidence) && (
          <>
            {', '}
            <a href={label.evidence} target="_blank" rel="noreferrer">
              evidence
            </a>
          </>
        )}
        )
      </span>
    </>
  )
}
