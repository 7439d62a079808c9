// Copies a text that the page shows only in part. Browsers have no clipboard for pages over plain HTTP from another machine;
// the full text is then shown.
import { useState } from 'preact/compat'
import { shortenHex } from './format.ts'

interface ShortHexProps {
  readonly hex: string
  /** What it is, for the name of the button: `public key`. */
  readonly name: string
}

export function ShortHex({ hex, name }: ShortHexProps) {
  const [isCopied, setCopied] = useState(false)
  if (!navigator.clipboard) return <span className="mono">{hex}</span>
  const copy = async () => {
    await navigator.clipboard.writeText(hex)
    setCopied(true)
  }
  return (
    <>
      <span className="mono" title={hex}>
        {shortenHex(hex)}
      </span>{' '}
      <button
        type="button"
        className="plain"
        aria-label={`${isCopied ? 'Copied' : 'Copy'} ${name}`}
        onClick={() => void copy()}
      >
        {isCopied ? 'Copied' : 'Copy'}
      </button>
    </>
  )
}
