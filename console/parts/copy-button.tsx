// Copies a text. Browsers have no clipboard for pages over plain HTTP from another machine; there is no button then.
import { useState } from 'preact/compat'

interface CopyButtonProps {
  readonly text: string
  /** What it is, for the name of the button: `public key`. */
  readonly name: string
}

export const canCopy = (): boolean => navigator.clipboard !== undefined

export function CopyButton({ text, name }: CopyButtonProps) {
  const [isCopied, setCopied] = useState(false)
  if (!canCopy()) return null
  const copy = async () => {
    await navigator.clipboard.writeText(text)
    setCopied(true)
  }
  return (
    <button
      type="button"
      className="plain copy"
      aria-label={`${isCopied ? 'Copied' : 'Copy'} ${name}`}
      onClick={() => void copy()}
    >
      {isCopied ? 'Copied' : 'Copy'}
    </button>
  )
}
