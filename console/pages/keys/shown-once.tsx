// The whole of a key, which is not stored anywhere.
import { Copyable } from '../../parts/copyable.tsx'

export function ShownOnce({ text }: { readonly text: string }) {
  return (
    <div className="note good" role="status">
      This is the only time the whole key is shown; keep it where secrets are kept.
      <Copyable title="The key" text={text} />
    </div>
  )
}
