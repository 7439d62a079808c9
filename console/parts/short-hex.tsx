// A long hexadecimal text in short, with a button that copies all of it. If it cannot be copied, all of it is shown.
import { CopyButton, canCopy } from './copy-button.tsx'
import { shortenHex } from './format.ts'

interface ShortHexProps {
  readonly hex: string
  /** What it is, for the name of the button: `public key`. */
  readonly name: string
}

export function ShortHex({ hex, name }: ShortHexProps) {
  if (!canCopy()) return <span className="mono">{hex}</span>
  return (
    <>
      <span className="mono" title={hex}>
        {shortenHex(hex)}
      </span>{' '}
      <CopyButton text={hex} name={name} />
    </>
  )
}
