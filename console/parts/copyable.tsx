// A block of text with a copy button.
import { CopyButton } from './copy-button.tsx'

export function Copyable({ title, text }: { readonly title: string; readonly text: string }) {
  return (
    <div>
      <div className="spread">
        <h3>{title}</h3>
        <CopyButton text={text} name={title} />
      </div>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: long lines must be scrollable by keyboard */}
      <pre tabIndex={0}>{text}</pre>
    </div>
  )
}
