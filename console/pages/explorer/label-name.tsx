// The label of an address with its source and confidence.
import type { AddressLabel } from '#api/wire/trail.ts'

export function LabelName({ label }: { readonly label: AddressLabel }) {
  return (
    <>
      <strong>{label.name}</strong>{' '}
      <span className="soft">
        (source: {label.source}, confidence {label.confidence} %
        {label.entity !== undefined && `, entity ${label.entity}`}
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
