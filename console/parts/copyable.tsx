// A block of text with a copy button.
import { useState } from 'preact/compat'

export function Copyable({ title, text }: { readonly title: string; readonly text: string }) {
  const [copied, setCopied] = useState(false)
  const copy = async () => {
    await navigator.clipboard.writeText(text)
    setCopied(true)
  }
  return (
    <div>
      <div className="spread">
        <h3>{title}</h3>
        <button type="button" className="plain" onClick={() => void copy()}>
          {copied ? 'Copied' : 'Copy'}
        </button>
      </div>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: long lines must be scrollable by keyboard */}
      <pre tabIndex={0}>{text}</pre>
    </div>
  )
}
