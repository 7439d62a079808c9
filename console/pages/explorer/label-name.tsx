// The label of an address with its entity, source and confidence.
import type { AddressLabel } from '#api/contract/wire/trail.ts'
import { hrefOf } from '../../route.ts'

export function LabelName({ label }: { readonly label: AddressLabel }) {
  return (
    <>
      <strong>{label.name}</strong>{' '}
      <span className="soft">
        (source: {label.source} <EvidenceLink url={label.evidence} />
        {', '}confidence {label.confidence} %
        {label.entity !== undefined && (
          <>
            {', entity '}
            <a href={hrefOf('explorer', ['entity', label.entity])}>{label.entity}</a>
          </>
        )}
        )
      </span>
    </>
  )
}

/** Nothing without a web address. */
export function EvidenceLink({ url = '' }: { readonly url?: string | undefined }) {
  if (!/^https?:/.test(url)) return null
  return (
    <a className="small" href={url} target="_blank" rel="noreferrer">
      evidence
    </a>
  )
}

/** The description of an entity, and notes about it. */
export const Described = ({ text, notes }: { readonly text: string; readonly notes: string }) => (
  <>
    {text}
    {notes !== '' && <div className="soft small">{notes}</div>}
  </>
)
